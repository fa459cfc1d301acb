import { image, srcset, type Image } from "./content";

interface Props {
  picture: Image | null;
  /** How wide the picture is shown, such as `(min-width: 48rem) 33rem, 100vw`: the browser picks a width by it. */
  sizes: string;
}

/** A picture of the content, in the width that the screen needs. */
export function Picture({ picture, sizes }: Props) {
  if (!picture) return null;
  const { alt, width, height } = picture;
  return (
    <img
      src={image(picture, { w: 1200, auto: "format" })}
      srcSet={srcset(picture, undefined, { auto: "format" }) || undefined}
      sizes={sizes}
      width={width ?? undefined}
      height={height ?? undefined}
      alt={alt ?? ""}
      loading="lazy"
    />
  );
}

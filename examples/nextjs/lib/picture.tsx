import NextImage from "next/image";
import type { Image } from "./content";

interface Props {
  picture: Image | null;
  /** How wide the picture is shown, such as `(min-width: 48rem) 50vw, 100vw`: the browser picks a width by it. */
  sizes: string;
  /** Whether it is what one sees first. */
  first?: boolean;
}

/** A picture of the content, in the width that the screen needs. */
export function Picture({ picture, sizes, first = false }: Props) {
  if (!picture) return null;
  const { url, alt, width, height } = picture;
  // Without known dimensions, the style sheet gives it a place.
  const space = width && height ? { width, height } : { width: 1200, height: 900 };
  return <NextImage src={url} alt={alt ?? ""} sizes={sizes} {...space} preload={first} />;
}

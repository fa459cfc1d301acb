/** How `image` changes a picture. Without any of these, the file itself is returned. */
export interface ImageOptions {
  /** The width in pixels. The server rounds it up to its next step, and never enlarges a picture. */
  w?: number;
  /** The height in pixels, rounded up like `w`. */
  h?: number;
  /** `max`, the default, and `clip` keep all of the picture within `w` and `h`; `crop` fills both and cuts off the rest. */
  fit?: "max" | "crop" | "clip";
  /** The file format. */
  fm?: "webp" | "avif" | "jpg" | "png";
  /** The quality, from 1 to 100. The server rounds it to 50, 75 or 90. */
  q?: number;
  /** `format` lets the server choose the smallest format that the browser takes. */
  auto?: "format";
}
/** The widths that the server makes of pictures; it rounds others up. */
export const pictureWidths: readonly number[] =
  [16, 32, 48, 64, 96, 128, 256, 384, 640, 750, 828, 1080, 1200, 1920, 2048, 3840];

/**
 * Returns the address of a picture in the size and format asked for. Pictures of other servers, vector graphics and
 * GIF files are returned as they are.
 */
export function image(picture: { url: string }, options: ImageOptions = {}): string {
  const given = (["w", "h", "fit", "fm", "q", "auto"] as const).filter((name) => options[name] !== undefined);
  if (given.length === 0 || !hasSizes(picture.url)) return picture.url;
  const [address = "", hash = ""] = picture.url.split(/(?=#)/);
  const query = given.map((name) => `${name}=${encodeURIComponent(String(options[name]))}`).join("&");
  return `${address}${address.includes("?") ? "&" : "?"}${query}${hash}`;
}

/**
 * Returns the `srcset` of a picture, from which a browser takes the width that fits; use it with `sizes`. Nothing wider
 * than the picture is offered. Returns an empty string for pictures without other sizes, and those of unknown width.
 */
export function srcset(
  picture: { url: string; width?: number | null },
  widths: readonly number[] = [384, 640, 828, 1200, 1920, 3840],
  options: Pick<ImageOptions, "fm" | "q" | "auto"> = {},
): string {
  const { url, width } = picture;
  if (!width || !hasSizes(url)) return "";
  const steps = widths.map((wanted) => pictureWidths.find((step) => step >= wanted) ?? 3840);
  // A step that is wider than the picture stands for the picture's own width; one such is enough.
  const offered = new Map<number, number>();
  for (const step of steps.sort((one, other) => one - other)) {
    const real = Math.min(step, width);
    if (!offered.has(real)) offered.set(real, step);
  }
  return [...offered].map(([real, w]) => `${image({ url }, { w, ...options })} ${real}w`).join(", ");
}

/** Returns whether the server makes other sizes of a picture: one of its own, whose name holds a digest. */
function hasSizes(url: string): boolean {
  return makesSizes && /[./][0-9a-f]{32}\.(?:jpe?g|png|webp|avif)(?:[?#]|$)/.test(url);
}

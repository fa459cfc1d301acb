import { image } from "./content";

/** The address of a picture in a width, in which the content's server makes it; pictures of other servers stay as they are. */
export default function imageLoader({ src, width, quality }: { src: string; width: number; quality?: number }) {
  return image({ url: src }, { w: width, q: quality ?? 75, auto: "format" });
}

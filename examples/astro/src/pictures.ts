// Astro's component `Image` asks this for addresses. The server of the content makes the pictures in every size.
import { baseService } from "astro/assets";
import type { ExternalImageService } from "astro";
import { image } from "./content";

export default {
  ...baseService,
  getURL: ({ src, width }) => image({ url: String(src) }, { ...(width && { w: width }), auto: "format" }),
} satisfies ExternalImageService;

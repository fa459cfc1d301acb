// `NuxtImg` asks this for addresses. The server of the content makes the pictures in every size.
import type { ProviderGetImage } from "@nuxt/image";
import { image } from "../utils/content";

export const getImage: ProviderGetImage = (src, { modifiers = {} } = {}) => ({
  url: image({ url: src }, { ...(modifiers.width && { w: Number(modifiers.width) }), auto: "format" }),
});

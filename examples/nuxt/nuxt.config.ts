import { reloadOnChange } from "./reload";

export default defineNuxtConfig({
  compatibilityDate: "2025-07-01",
  telemetry: false,
  modules: ["@nuxt/image"],
  css: ["~/assets/house.css"],
  image: { provider: "cms", providers: { cms: { provider: "~/providers/cms.ts" } } },
  // plugins/content.client.ts has what a page does when the content has changed.
  vite: {
    plugins: [
      reloadOnChange(process.env["CMS_URL"] ?? "http://127.0.0.1:8787", { type: "custom", event: "content" }),
    ],
  },
  app: {
    head: {
      htmlAttrs: { lang: "en" },
      link: [{ rel: "icon", href: "/icon.svg", type: "image/svg+xml" }],
    },
  },
});

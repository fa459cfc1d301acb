export default defineNuxtConfig({
  compatibilityDate: "2025-07-01",
  telemetry: false,
  // Only the server that makes the pages knows these: `NUXT_CMS_URL` and `NUXT_CMS_KEY` set them too.
  runtimeConfig: {
    cmsUrl: process.env.CMS_URL ?? "http://127.0.0.1:8787",
    cmsKey: process.env.CMS_KEY ?? "",
  },
  nitro: { prerender: { crawlLinks: true, routes: ["/"] } },
});

import { defineConfig, envField } from "astro/config";

export default defineConfig({
  i18n: { locales: ["en", "ja"], defaultLocale: "en" },
  env: {
    schema: {
      CMS_URL: envField.string({ context: "server", access: "secret", default: "http://127.0.0.1:8787" }),
      CMS_KEY: envField.string({ context: "server", access: "secret" }),
    },
  },
});

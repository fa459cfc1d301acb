import node from "@astrojs/node";
import { defineConfig, envField } from "astro/config";
import { loadEnv } from "vite";
import { reloadOnChange } from "./reload";

const CMS_URL = process.env["CMS_URL"] ?? loadEnv("", process.cwd(), "CMS_")["CMS_URL"] ?? "http://127.0.0.1:8787";

export default defineConfig({
  adapter: node({ mode: "standalone" }), // for the preview alone: all other pages are made when the site is built
  i18n: { locales: ["en", "ja"], defaultLocale: "en" },
  image: { service: { entrypoint: "./src/pictures.ts" } },
  vite: { plugins: [reloadOnChange(CMS_URL)] },
  env: {
    schema: {
      CMS_URL: envField.string({ context: "server", access: "secret", default: CMS_URL }),
      CMS_KEY: envField.string({ context: "server", access: "secret" }),
    },
  },
});

import { sveltekit } from "@sveltejs/kit/vite";
import { defineConfig, loadEnv } from "vite";
import { reloadOnChange } from "./reload";

export default defineConfig(({ mode }) => {
  const { CMS_URL = "http://127.0.0.1:8787" } = loadEnv(mode, process.cwd(), "CMS_");
  // src/hooks.client.ts has what a page does then.
  return { plugins: [sveltekit(), reloadOnChange(CMS_URL, { type: "custom", event: "content" })] };
});

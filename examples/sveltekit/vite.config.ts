import { sveltekit } from "@sveltejs/kit/vite";
import { defineConfig, loadEnv } from "vite";
import { reloadOnChange } from "./reload";

export default defineConfig(({ mode }) => {
  const { CMS_URL = "http://127.0.0.1:8787" } = loadEnv(mode, process.cwd(), "CMS_");
  return { plugins: [sveltekit(), reloadOnChange(CMS_URL)] };
});

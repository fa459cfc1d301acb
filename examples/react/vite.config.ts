import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// Of the variables in .env, those two reach the browser, where everybody can read them.
export default defineConfig({ envPrefix: ["CMS_URL", "CMS_KEY"], plugins: [react()] });

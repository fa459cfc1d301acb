import type { NextConfig } from "next";

const config: NextConfig = {
  cacheComponents: true, // "use cache"
  partialPrefetching: false, // else entries that are not there are answered with 200 when they are first asked for
  images: { loader: "custom", loaderFile: "./lib/image-loader.ts" },
  ...(process.env.NODE_ENV === "development" ? { cacheHandlers: { default: `${import.meta.dirname}/lib/no-cache.mjs` } } : {}),
};

export default config;

import type { NextConfig } from "next";

const config: NextConfig = {
  cacheComponents: true, // "use cache"
  partialPrefetching: false, // else entries that are not there are answered with 200 when they are first asked for
};

export default config;

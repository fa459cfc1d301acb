/** The content, asked for with a key that never reaches a browser: a generated site has its answers in its pages. */
export default defineEventHandler((event) => {
  const { cmsUrl, cmsKey } = useRuntimeConfig(event);
  const path = getRouterParam(event, "path");
  return $fetch(`${cmsUrl}/v1/komugi/${path}`, { query: getQuery(event), headers: { "X-API-KEY": cmsKey } });
});

export default defineEventHandler((event) => {
  const id = getRouterParam(event, "id", { decode: true }) ?? "";
  return orNotFound(kept(`journal/${id}`, () => bakery.entry("journal", id)));
});

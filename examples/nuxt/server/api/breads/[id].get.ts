export default defineEventHandler((event) => {
  const id = getRouterParam(event, "id", { decode: true }) ?? "";
  return orNotFound(kept(`breads/${id}`, () => bakery.entry("breads", id)));
});

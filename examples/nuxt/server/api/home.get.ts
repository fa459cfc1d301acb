export default defineEventHandler(async () => {
  const [shop, breads, journal] = await Promise.all([
    kept("shop", () => bakery.object("shop", { fields: ["title", "welcome", "shopfront"] })),
    kept("breads", () =>
      bakery.list("breads", { fields: ["name", "summary", "price", "photo"], orders: ["name"], limit: 100 }),
    ),
    kept("journal", () => bakery.list("journal", { fields: ["title", "cover"], limit: 6 })),
  ]);
  return { shop, breads: breads.contents, journal: journal.contents };
});

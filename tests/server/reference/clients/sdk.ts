// A client made by @hey-api/openapi-ts from the document of the workspace.
import { client } from "./komugi-sdk/client.gen.js";
import { getBreads, getBreadsViews, getShop, listBreads } from "./komugi-sdk/sdk.gen.js";

declare const process: { argv: string[] };
const [url, key] = process.argv.slice(2) as [string, string];
client.setConfig({ baseUrl: url, headers: { "X-API-KEY": key, Prefer: "handling=strict" } });

const list = await listBreads({
  query: { limit: 2, orders: ["vegan", "-price"], filters: "vegan[equals]true", fields: ["name", "price"] },
});
const entry = await getBreads({ path: { entryId: "melon-bread" }, query: { include: ["_langs"], depth: 0 } });
const missing = await getBreads({ path: { entryId: "pizza" } });
const views = await getBreadsViews({ query: { ids: ["melon-bread", "milk-roll"] } });
const shop = await getShop({ query: { fields: ["title", "seats"] } });
// @ts-expect-error: there is no such field
void (() => listBreads({ query: { fields: ["nam"] } }));

console.log(
  JSON.stringify({
    names: list.data?.contents.map((bread) => bread.name),
    available: entry.data?._langs?.available,
    missing: missing.error?.message,
    views: Object.keys(views.data?.views ?? {}),
    shop: shop.data,
  }),
);

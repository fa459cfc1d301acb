// A client made by openapi-typescript from the document of the workspace, and one from that of any workspace.
import createClient from "openapi-fetch";
import type { components, paths } from "./komugi-openapi.js";
import type { paths as servicePaths } from "./service-openapi.js";

declare const process: { argv: string[] };
const [url, key] = process.argv.slice(2) as [string, string];
// Read strictly, what a client sends in another way than the server reads it is refused.
const headers = { "X-API-KEY": key, Prefer: "handling=strict" };
const querySerializer = { array: { style: "form", explode: false } } as const;

const komugi = createClient<paths>({ baseUrl: url, headers, querySerializer });
const list = await komugi.GET("/v1/komugi/breads", {
  params: { query: { limit: 2, orders: ["vegan", "-price"], filters: "vegan[equals]true", fields: ["name", "price"] } },
});
if (!list.data) throw new Error(list.error.message);
const names: (string | null | undefined)[] = list.data.contents.map((bread) => bread.name);

const entry = await komugi.GET("/v1/komugi/breads/{entryId}", { params: { path: { entryId: "melon-bread" } } });
if (!entry.data) throw new Error(entry.error.message);
const bread = entry.data as components["schemas"]["Breads"];
const kind: "loaf" | "roll" | "sweet" = bread.kind;
const baker = bread.baker !== null && typeof bread.baker === "object" ? bread.baker.name : bread.baker;

const missing = await komugi.GET("/v1/komugi/breads/{entryId}", { params: { path: { entryId: "pizza" } } });
const message: string | undefined = missing.error?.message;

// @ts-expect-error: there is no such path
void (() => komugi.GET("/v1/komugi/pizzas"));
// @ts-expect-error: a limit is a number
void (() => komugi.GET("/v1/komugi/breads", { params: { query: { limit: "2" } } }));

// @ts-expect-error: there is no such field
void (() => komugi.GET("/v1/komugi/breads", { params: { query: { fields: ["nam"] } } }));

// With its own way of sending lists, the client is told what is wrong.
const repeating = createClient<paths>({ baseUrl: url, headers });
const refused = await repeating.GET("/v1/komugi/breads", { params: { query: { fields: ["name", "price"] } } });

const any = createClient<servicePaths>({ baseUrl: url, headers, querySerializer });
const views = await any.GET("/v1/{workspace}/_views/{endpoint}", {
  params: { path: { workspace: "komugi", endpoint: "breads" }, query: { ids: ["melon-bread", "milk-roll"] } },
});
const shop = await any.GET("/v1/{workspace}/{endpoint}", {
  params: { path: { workspace: "komugi", endpoint: "shop" }, query: { fields: ["title", "seats"] } },
});

console.log(
  JSON.stringify({
    names,
    kind,
    baker,
    missing: [missing.response.status, message],
    refused: [refused.response.status, refused.error?.message],
    views: Object.keys(views.data?.views ?? {}),
    shop: shop.data,
  }),
);

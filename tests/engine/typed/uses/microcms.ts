// A program that was written for microCMS's SDK, and what the types of this workspace add.
import { createClient, isMicroCMSRequestError } from "./microcms-js-sdk.js";
import type { MicroCMSImage, MicroCMSListContent } from "./microcms-js-sdk.js";

declare const process: { argv: string[] };
const [url, key] = process.argv.slice(2) as [string, string];
const client = createClient({ serviceDomain: url, apiKey: key, retry: true });

type News = { title: string; cover?: MicroCMSImage } & MicroCMSListContent;
const own = await client.getList<News>({ endpoint: "journal", queries: { fields: "id,title", limit: 1, filters: "category[equals]news" } });
const typed = await client.getList({ endpoint: "breads", queries: { limit: 1 } });
const name: string | undefined = typed.contents[0]?.name;
const flat = await client.getListDetail({ endpoint: "breads", contentId: "milk-roll", queries: { depth: 0 } });
const baker: string | null = flat.baker;
const shop = await client.getObject({ endpoint: "shop" });
const seats: number | null = shop.seats;
const all = await client.getAllContents({ endpoint: "breads", queries: { orders: "name" } });
const ids: string[] = await client.getAllContentIds({ endpoint: "breads", filters: "vegan[equals]true" });
const names: string[] = await client.getAllContentIds({ endpoint: "breads", alternateField: "name" });
const some = await client.getList({ endpoint: "breads", queries: { ids: ["milk-roll", "sesame-ring"], orders: "name" } });
const missing = await client.getListDetail({ endpoint: "breads", contentId: "pizza" }).catch((error: unknown) => error);
const many = client.getList({ endpoint: "breads", queries: { ids: "milk-roll", filters: "vegan[exists]" } });
const refused = await Promise.all([many, client.getList({ endpoint: "" })].map((one) => one.catch((error: Error) => error.message)));
const nobody: unknown = await createClient({ serviceDomain: "http://127.0.0.1:9", apiKey: key })
  .get({ endpoint: "breads" })
  .catch((error: unknown) => error);

export function unknownTypes() {
  // @ts-expect-error: a typed entry has no such field
  void client.getListDetail({ endpoint: "breads", contentId: "x" }).then((bread) => bread.pizza);
  // @ts-expect-error: there is no depth of 3
  void client.getList({ endpoint: "breads", queries: { depth: 3 } });
}

console.log(JSON.stringify({
  own: own.contents.map((one) => one.title), name, baker, seats, all: all.map((one) => one.name), ids, names,
  some: some.contents.map((one) => one.id), refused,
  missing: isMicroCMSRequestError(missing) ? [missing.status, missing.message] : null,
  nobody: isMicroCMSRequestError(nobody) ? [nobody.status === undefined, nobody.message.split("\n")[0]] : null,
}));

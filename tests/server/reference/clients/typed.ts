// The types of `cms types typescript`: a query of each kind, and what must not compile.
import { search } from "./komugi.js";
import type { Breads, BreadsQuery, ListOf, Lists, Objects, Queries, Selected } from "./komugi.js";

declare const process: { argv: string[] };
const [url, key] = process.argv.slice(2) as [string, string];

async function get<T>(target: string, query: string): Promise<T> {
  const answer = await fetch(`${url}/v1/komugi/${target}?${query}`, { headers: { "X-API-KEY": key } });
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()) as T;
}

/** What an application would write once: the entries of any list API. */
function list<E extends keyof Lists & keyof Queries>(endpoint: E, query: Queries[E]): Promise<ListOf<Lists[E]>> {
  return get(endpoint, search(query));
}

const query: BreadsQuery = {
  fields: ["name", "price", "baker"],
  orders: ["-price", "name"],
  filters: { or: [["price", "less_than", 300], ["name", "contains", "a [or] b & c"], ["vegan", "equals", true], ["photo", "exists"]] },
  limit: 2,
  lang_fallback: false,
};
const some = await get<ListOf<Selected<Breads, "name" | "price" | "baker">>>("breads", search(query));
const nothing = await list("breads", { filters: { and: [["name", "equals", "a [and] b"]] } });
const shop = await get<Objects<2>["shop"]>("shop", search({ depth: 2 }));

const first = some.contents[0];
const baker: string | null | undefined =
  first?.baker !== null && typeof first?.baker === "object" ? first.baker.name : first?.baker;
// Two levels down references are IDs again.
const deep: string | null | undefined =
  shop.todays_bread !== null && typeof shop.todays_bread === "object" && shop.todays_bread.baker !== null
  && typeof shop.todays_bread.baker === "object" && typeof shop.todays_bread.baker.favourite === "string"
    ? shop.todays_bread.baker.favourite : undefined;

// @ts-expect-error: rich text is no sort key
void ({ orders: ["story"] } satisfies BreadsQuery);
// @ts-expect-error: a number is compared with a number
void ({ filters: { and: [["price", "less_than", "300"]] } } satisfies BreadsQuery);
// @ts-expect-error: an image takes no such operator
void ({ filters: { and: [["photo", "equals", "x"]] } } satisfies BreadsQuery);
// @ts-expect-error: this field was not selected
void first?.story;
// @ts-expect-error: a reference may be an ID
void shop.todays_bread?.name;

console.log(JSON.stringify({ query: search(query), ids: some.contents.map((one) => one.id), baker, deep, nothing: nothing.totalCount }));

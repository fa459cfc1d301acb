// The client of `cms types typescript --client`: a call of each kind, in Node and in a browser, and what must not compile.
import { BadRequest, Client, ContentError, KeyRefused, NotFound, SnapshotGone, TooManyRequests, Unreachable, factsOf } from "./komugi.js";
import type { Bakers, Breads, Draft, Journal, ListOf, Selected } from "./komugi.js";

/** What an application would do with a client; the same in Python prints the same. */
export async function results(url: string, key: string, limitedKey: string, draftKey: string) {
  const content = new Client({ url, key });
  const page = await content.list("breads", {
    fields: ["name", "price"],
    orders: ["-price", "name"],
    filters: { or: [["price", "less_than", 300], ["name", "contains", "a [or] b & c"]] },
    limit: 2,
  });
  const again = await content.list("breads", { fields: ["name", "price"], limit: 2 });
  const names: string[] = [];
  for await (const bread of content.all("breads", { orders: ["name"], filters: { and: [["vegan", "equals", true]] } })) {
    names.push(bread.name);
  }
  const rye = await content.entry("breads", "country-rye", { depth: 0 });
  const baker = (await content.entry("breads", "country-rye", { fields: ["baker"] })).baker;
  const japanese = await content.entry("breads", "melon-bread", { lang: "ja", fields: ["name"], include: "_langs" });
  const fallback = await content.list("breads", { lang: "ja", lang_fallback: true, fields: ["name"], limit: 1 });
  const shop = await content.object("shop", { depth: 2, fields: ["seats", "todays_bread"] });
  const draft = await content.entryDraft("journal", "the-night-oven", draftKey, { fields: ["title"] });
  const pinned = await content.pin();
  const pins = [pinned.snapshot === factsOf(await pinned.list("breads")).snapshot, (await pinned.list("breads")).totalCount];
  const gone = failure(content.at("20200101T000000000Z-00000000@2020-01-01T00:00:00.000Z").schema(), SnapshotGone);
  const schema = await content.schema();
  const views = await content.views("breads", ["country-rye", "pizza"], 7);
  const many = await content.entries("breads", ["milk-roll", "pizza", "country-rye"], { fields: ["name"] });
  const one = await content.list("breads", { filters: ["name", "equals", "Milk roll"], fields: ["name"] });
  const limited = new Client({ url, key: limitedKey, patience: 0 });
  await limited.list("stockists");
  const failures = await Promise.all([
    failure(content.entry("breads", "pizza"), NotFound),
    failure(content.list("breads", { limit: 200 }), BadRequest),
    failure(new Client({ url, key, strict: true }).list("breads", { limt: 3 } as {}), BadRequest),
    failure(new Client({ url, key: "pq_wrong" }).schema(), KeyRefused),
    failure(limited.list("stockists"), TooManyRequests),
    failure(new Client({ url: "http://127.0.0.1:9", key, patience: 0 }).schema(), Unreachable),
  ]);
  return {
    page: page.contents, same: page.totalCount + again.contents.length, names, rye: rye.baker,
    baker: typeof baker === "object" ? baker?.name : baker, langs: japanese._langs, name: japanese.name,
    fallback: fallback.contents.map((bread) => bread.name), seats: shop.seats,
    deep: typeof shop.todays_bread === "object" ? typeof shop.todays_bread?.baker : null,
    draft: draft.title, pins, gone: (await gone)[1], apis: schema.apis.map((api) => api.endpoint), views: views.views, failures,
    many: many.map((bread) => bread.id), one: one.contents.map((bread) => bread.name),
  };
}

async function failure(asked: Promise<unknown>, kind: typeof ContentError): Promise<[string, number, string]> {
  const error = await asked.then(() => undefined, (reason: unknown) => reason);
  if (!(error instanceof kind)) throw new Error(`expected ${kind.name}, got ${String(error)}`);
  return [error.name, error.status, error.status ? error.message : ""];
}

// The types that calls have, as the type checker sees them: each line compiles only if they are exactly these.
type Exactly<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : never;
type Of<P> = P extends Promise<infer T> ? T : P extends AsyncIterable<infer T> ? T : never;
export async function typed(content: Client) {
  const list = content.list("breads");
  const narrowed = content.list("breads", { fields: ["name", "baker"], depth: 2 });
  const all = content.all("breads", { depth: 0 });
  const draft = content.entryDraft("journal", "x", "key");
  const many = content.entries("breads", ["x"], { fields: ["baker"], depth: 0 });
  const facts = factsOf(await list);
  const exact: [
    Exactly<Of<typeof list>, ListOf<Breads>>,
    Exactly<Of<typeof narrowed>, ListOf<Selected<Breads<2>, "name" | "baker">>>,
    Exactly<Of<typeof all>, Breads<0>>,
    Exactly<Of<typeof many>, Selected<Breads<0>, "baker">[]>,
    Exactly<Of<typeof draft>, Draft<Journal>>,
    Exactly<Of<typeof draft>["title"], string | null>,
    Exactly<Of<typeof draft>["tags"], string[]>,
    Exactly<Of<typeof draft>["id"], string>,
    Exactly<Breads<0>["baker"], string | null>,
    Exactly<Breads["baker"], Bakers<0> | string | null>,
    Exactly<typeof facts.nextChange, Date | undefined>,
  ] = [true, true, true, true, true, true, true, true, true, true, true];
  return exact;
}

export function refused(content: Client) {
  // @ts-expect-error: there is no such API
  void content.list("pizza");
  // @ts-expect-error: an object API has no list
  void content.list("shop");
  // @ts-expect-error: a list API has no one item
  void content.object("breads");
  // @ts-expect-error: rich text is no sort key
  void content.list("breads", { orders: ["story"] });
  // @ts-expect-error: there is no such field
  void content.list("breads", { fields: ["pizza"] });
  // @ts-expect-error: a number is compared with a number
  void content.list("breads", { filters: { and: [["price", "less_than", "300"]] } });
  // @ts-expect-error: conditions are joined by one word
  void content.list("breads", { filters: { and: [["vegan", "exists"]], or: [["vegan", "exists"]] } });
  // @ts-expect-error: there is no fourth depth
  void content.list("breads", { depth: 3 });
  // @ts-expect-error: the workspace has no such language
  void content.list("breads", { lang: "fr" });
  // @ts-expect-error: stockists have one language
  void content.list("stockists", { lang: "ja" });
  // @ts-expect-error: all entries are all
  void content.all("breads", { limit: 3 });
  // @ts-expect-error: one entry is not searched
  void content.entry("breads", "x", { q: "rye" });
  // @ts-expect-error: this field was not selected
  void content.list("breads", { fields: ["name"] }).then((page) => page.contents[0]?.story);
  // @ts-expect-error: a reference may be an ID
  void content.entry("breads", "x").then((bread) => bread.baker?.name);
  // @ts-expect-error: a draft may lack what published entries have
  void content.entryDraft("journal", "x", "key").then((entry) => entry.title.length);
}

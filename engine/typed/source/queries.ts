/** The parameters of a request for a single entry, or for the item of an object API. */
export interface EntryQuery<F extends string, L extends Language = Language> {
  /** How many levels of references are expanded: with 0, references are IDs. Default 1. */
  depth?: Depth;
  /** The fields to return; `id` always comes. Default: all. `createdAt`, `updatedAt` and `publishedAt` then come only when named. */
  fields?: readonly F[];
  /** The language to return. Default: the main language. */
  lang?: L;
  /** Return the main language where there is no version in `lang`. */
  lang_fallback?: boolean;
  /** `_langs` adds to each entry the language it is in, and those in which it is live. */
  include?: "_langs";
  /** The draft key of unpublished changes. */
  draftKey?: string;
}
/** The parameters of a request for a list. */
export interface ListQuery<F extends string, O extends string, C, L extends Language = Language>
  extends Omit<EntryQuery<F, L>, "draftKey"> {
  /** How many entries to return at most, from 1 to 100. Default 10. */
  limit?: number;
  /** How many matching entries to skip. Default 0. */
  offset?: number;
  /** Up to three sort keys, the most important first; `-` before a key sorts from high to low. Default: the newest first. */
  orders?: readonly (O | `-${O}`)[];
  /** Which entries to return. */
  filters?: Filters<C>;
  /** Text that one of the entry's text fields must contain; case does not matter. At most 100 characters. */
  q?: string;
}
/**
 * One condition, such as `["price", "less_than", 300]`, or up to ten: all of them must hold with
 * `{ and: [...] }`, at least one with `{ or: [...] }`.
 */
export type Filters<C> = C | { and: readonly C[]; or?: never } | { or: readonly C[]; and?: never };

type Condition = readonly [field: string, operator: string, value?: string | number | boolean | Date];
interface AnyQuery extends EntryQuery<string>, Omit<ListQuery<string, string, Condition>, keyof EntryQuery<string>> {}

/** Returns the query string for a URL, without the `?`. */
export function search(query: AnyQuery): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(query) as [keyof AnyQuery, AnyQuery[keyof AnyQuery]][]) {
    if (value === undefined) continue;
    const filters = name === "filters";
    parts.push(`${name}=${filters ? joined(value as Filters<Condition>) : [value].flat().map(encoded).join(",")}`);
  }
  return parts.join("&");
}

function encoded(value: unknown): string {
  return encodeURIComponent(value instanceof Date ? value.toISOString() : String(value));
}

function joined(filters: Filters<Condition>): string {
  if (!("and" in filters || "or" in filters)) return written(filters);
  return filters.and ? filters.and.map(written).join("[and]") : filters.or.map(written).join("[or]");
}

function written([field, operator, value]: Condition): string {
  // Only the value is encoded, not brackets, so that it can contain anything.
  return `${field}[${operator}]${value === undefined ? "" : encoded(value)}`;
}

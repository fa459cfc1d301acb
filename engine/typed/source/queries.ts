/** The parameters of a request for a single entry, or for the item of an object API. */
export interface EntryQuery<F extends string, L extends Language = Language> {
  depth?: Depth;
  fields?: readonly F[];
  lang?: L;
  lang_fallback?: boolean;
  include?: "_langs";
  draftKey?: string;
}
/** The parameters of a request for a list. With `and`, all conditions must hold; with `or`, at least one. */
export interface ListQuery<F extends string, O extends string, C, L extends Language = Language>
  extends Omit<EntryQuery<F, L>, "draftKey"> {
  limit?: number;
  offset?: number;
  orders?: readonly (O | `-${O}`)[];
  filters?: { and: readonly C[] } | { or: readonly C[] };
  q?: string;
}

type Condition = readonly [field: string, operator: string, value?: string | number | boolean];
interface AnyQuery extends EntryQuery<string>, Omit<ListQuery<string, string, Condition>, keyof EntryQuery<string>> {}

type Filters = NonNullable<AnyQuery["filters"]>;

/** Returns the query string for a URL, without the `?`. */
export function search(query: AnyQuery): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(query) as [keyof AnyQuery, AnyQuery[keyof AnyQuery]][]) {
    if (value === undefined) continue;
    const filters = name === "filters";
    parts.push(`${name}=${filters ? joined(value as Filters) : [value].flat().map(encoded).join(",")}`);
  }
  return parts.join("&");
}

function encoded(value: unknown): string {
  return encodeURIComponent(String(value));
}

function joined(filters: Filters): string {
  const [joiner, conditions] = "and" in filters ? ["[and]", filters.and] as const : ["[or]", filters.or] as const;
  // Only values are encoded, not brackets, so that a value can contain anything.
  return conditions
    .map(([field, operator, value]) => `${field}[${operator}]${value === undefined ? "" : encoded(value)}`)
    .join(joiner);
}

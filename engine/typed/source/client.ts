type ListName = keyof Lists;
type ObjectName = keyof Objects;
type FieldOf<E extends keyof Queries> = NonNullable<Queries[E]["fields"]>[number];
/** A query whose `fields` and `depth` decide the type of the answer. */
type Asked<Q, F, D> = Omit<Q, "fields" | "depth" | "draftKey"> & { fields?: readonly F[]; depth?: D };
type EntryAsked<E extends keyof Queries, F, D> = Asked<EntryQuery<FieldOf<E>, LanguageOf<E>>, F, D>;
type LanguageOf<E extends keyof Queries> = NonNullable<Queries[E]["lang"]>;
/** The entry, reduced by `fields` if there are any. */
type Found<T, F> = [F] extends [never] ? T : T extends Meta ? Selected<T, F & keyof T> : never;
/** Unpublished changes: values that are required for publishing can still be missing. */
export type Draft<T> = Unfinished<T, keyof Meta>;
type Unfinished<T, Never = "fieldId"> =
  T extends object ? { [K in keyof T]: K extends Never ? T[K] : T[K] extends readonly unknown[] ? InDraft<T[K]> : InDraft<T[K]> | null } : T;
type InDraft<V> = V extends Meta | Records ? V : V extends readonly (infer O)[] ? InDraft<O>[] : Unfinished<V>;

/** The view counts of entries, by their IDs. */
export interface Views {
  days: number;
  views: { [id: string]: { total: number; recent: number } };
}
/** The APIs and fields that a key may read. */
export interface Schema {
  workspace: string;
  apis: { name: string; endpoint: string; kind: "list" | "object"; fields: SchemaField[] }[];
}
/** A field that a key may read. */
export interface SchemaField {
  id: string;
  name: string;
  type: string;
  required: boolean;
}

/**
 * Reads the workspace. Every call returns what the server answered, typed by the API, the fields and the depth that
 * were asked for, and throws a `ContentError` of the kind that fits. Addresses of the server's files are absolute. The
 * last argument is given to `fetch`.
 */
export class Client {
  #transport: Transport;
  readonly #settings: ClientSettings;
  /** The snapshot version and instant that all calls are pinned to, if they are. */
  readonly snapshot: string | undefined;

  constructor(settings: ClientSettings, snapshot?: string) {
    this.#settings = settings;
    this.snapshot = snapshot;
    this.#transport = new Transport(settings);
  }

  /** Returns one page of a list API. */
  list<E extends ListName, const F extends FieldOf<E> = never, D extends Depth = 1>(
    api: E, query: Asked<Queries[E], F, D> = {} as Asked<Queries[E], F, D>, init?: RequestInit,
  ): Promise<ListOf<Found<ListsAt[D][E], F>>> {
    return this.#get(api, query, init);
  }

  /** Yields every entry that matches, page by page. All pages come from one snapshot version and instant. */
  async *all<E extends ListName, const F extends FieldOf<E> = never, D extends Depth = 1>(
    api: E, query: Omit<Asked<Queries[E], F, D>, "limit" | "offset"> = {} as Asked<Queries[E], F, D>, init?: RequestInit,
  ): AsyncGenerator<Found<ListsAt[D][E], F>, void, undefined> {
    let reader: Client = this;
    for (let offset = 0, total = 1; offset < total; ) {
      const page: ListOf<Found<ListsAt[D][E], F>> = await reader.#get(api, { ...query, limit: 100, offset }, init, {}, true);
      yield* page.contents;
      reader = reader.#stayingAt(page);
      total = page.contents.length > 0 ? page.totalCount : 0;
      offset += page.contents.length;
    }
  }

  /** Returns one entry of a list API. Throws `NotFound` if it is not live. */
  entry<E extends ListName, const F extends FieldOf<E> = never, D extends Depth = 1>(
    api: E, id: string, query: EntryAsked<E, F, D> = {}, init?: RequestInit,
  ): Promise<Found<ListsAt[D][E], F>> {
    return this.#get(`${api}/${encodeURIComponent(id)}`, query, init);
  }

  /**
   * Returns those entries of a list API that are live, in the order of their IDs; ten take one request. All come from
   * one snapshot version and instant.
   */
  async entries<E extends ListName, const F extends FieldOf<E> = never, D extends Depth = 1>(
    api: E, ids: Iterable<string>, query: EntryAsked<E, F, D> = {}, init?: RequestInit,
  ): Promise<Found<ListsAt[D][E], F>[]> {
    // No entry has an ID of another form, and a longer one would not fit into the request.
    const wanted = [...new Set(ids)].filter((id) => /^[A-Za-z0-9_-]{1,64}$/.test(id));
    const found = new Map<string, Found<ListsAt[D][E], F>>();
    let reader: Client = this;
    for (let first = 0; first < wanted.length; first += 10) {
      const filters = { or: wanted.slice(first, first + 10).map((id) => ["id", "equals", id] as const) };
      const asked = { ...query, filters, limit: 10 };
      const page: ListOf<Found<ListsAt[D][E], F> & { id: string }> = await reader.#get(api, asked, init, {}, true);
      for (const one of page.contents) found.set(one.id, one);
      reader = reader.#stayingAt(page);
    }
    return wanted.flatMap((id) => found.get(id) ?? []);
  }

  /** Returns the item of an object API. Throws `NotFound` if it is not live. */
  object<E extends ObjectName, const F extends FieldOf<E> = never, D extends Depth = 1>(
    api: E, query: EntryAsked<E, F, D> = {}, init?: RequestInit,
  ): Promise<Found<ObjectsAt[D][E], F>> {
    return this.#get(api, query, init);
  }

  /** Returns the unpublished changes of an entry, or an entry never published. Throws `NotFound` if there are none. */
  entryDraft<E extends ListName, const F extends FieldOf<E> = never, D extends Depth = 1>(
    api: E, id: string, draftKey: string, query: EntryAsked<E, F, D> = {}, init?: RequestInit,
  ): Promise<Draft<Found<ListsAt[D][E], F>>> {
    return this.#get(`${api}/${encodeURIComponent(id)}`, query, init, { "X-Draft-Key": draftKey });
  }

  /** Returns the unpublished changes of an object API. Throws `NotFound` if there are none. */
  objectDraft<E extends ObjectName, const F extends FieldOf<E> = never, D extends Depth = 1>(
    api: E, draftKey: string, query: EntryAsked<E, F, D> = {}, init?: RequestInit,
  ): Promise<Draft<Found<ObjectsAt[D][E], F>>> {
    return this.#get(api, query, init, { "X-Draft-Key": draftKey });
  }

  /** Returns the APIs and fields that the key may read. */
  schema(init?: RequestInit): Promise<Schema> {
    return this.#get("_schema", {}, init);
  }

  /** Returns how often 1 to 100 entries were viewed: in all, and in the last `days` days. */
  views(api: keyof Queries, ids: readonly string[], days = 30, init?: RequestInit): Promise<Views> {
    return this.#get(`_views/${api}`, { ids, days }, init);
  }

  /** Returns a client whose calls all return what is live now, even if something is published in the meantime. */
  async pin(init?: RequestInit): Promise<Client> {
    const { snapshot } = factsOf(await this.#get<Schema>("_schema", {}, init, {}, true));
    if (snapshot !== undefined) return this.at(snapshot);
    throw new ContentError("The server's answer does not name its snapshot version.", 200, this.#transport.address("_schema"));
  }

  /** Returns a client pinned to a snapshot version and instant, as `factsOf(answer).snapshot` gives them. */
  at(snapshot: string): Client {
    const pinned = new Client(this.#settings, snapshot);
    pinned.#transport = this.#transport;
    return pinned;
  }

  /** Returns this client if it is pinned; otherwise one that is pinned to what an answer is from. */
  #stayingAt(answer: object): Client {
    const { snapshot } = factsOf(answer);
    return this.snapshot === undefined && snapshot !== undefined ? this.at(snapshot) : this;
  }

  #get<T extends object>(
    path: string, query: object, init: RequestInit | undefined, headers: { [name: string]: string } = {}, isLong = false,
  ): Promise<T> {
    const text = search(query as Parameters<typeof search>[0]);
    if (this.snapshot !== undefined) headers = { ...headers, "X-Snapshot": this.snapshot };
    return this.#transport.get(text ? `${path}?${text}` : path, headers, init, isLong || this.snapshot !== undefined);
  }
}

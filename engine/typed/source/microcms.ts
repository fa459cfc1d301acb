/** The settings of the client. */
export interface MicroCMSClient {
  /** The address of the server, such as `https://cms.example.com`; `https://` may be left out. */
  serviceDomain: string;
  apiKey: string;
  /** Wait and try again for up to two minutes when the server cannot answer now. */
  retry?: boolean;
}
export type MicroCMSRequestError = Error & { status: number | undefined; url: string; originalError: unknown };
/** The parameters of a request. `depth` is at most 2, and rich text is always HTML. */
export interface MicroCMSQueries {
  draftKey?: string;
  limit?: number;
  offset?: number;
  orders?: string;
  fields?: string | string[];
  q?: string;
  depth?: Depth;
  /** At most 10, and only without `filters`. */
  ids?: string | string[];
  filters?: string;
  richEditorFormat?: "html";
  lang?: Language;
  lang_fallback?: boolean;
  include?: "_langs";
}
export interface MicroCMSContentId {
  id: string;
}
export interface MicroCMSDate {
  createdAt: string;
  updatedAt: string;
  publishedAt?: string;
  revisedAt?: string;
}
export interface MicroCMSImage {
  url: string;
  width?: number;
  height?: number;
  alt?: string;
}
export type MicroCMSListContent = MicroCMSContentId & MicroCMSDate;
export type MicroCMSObjectContent = MicroCMSDate;
export interface MicroCMSListResponse<T> {
  contents: (T & MicroCMSListContent)[];
  totalCount: number;
  limit: number;
  offset: number;
}
export type CustomRequestInit = Omit<RequestInit, "method" | "headers" | "body">;
interface OfEndpoint<E extends string> {
  endpoint: E;
  customRequestInit?: CustomRequestInit;
}
export interface GetListRequest<E extends string = string> extends OfEndpoint<E> {
  queries?: MicroCMSQueries;
}
export interface GetObjectRequest<E extends string = string> extends OfEndpoint<E> {
  queries?: MicroCMSQueries;
}
export interface GetRequest<E extends string = string> extends OfEndpoint<E> {
  contentId?: string;
  queries?: MicroCMSQueries;
}
export interface GetListDetailRequest<E extends string = string> extends OfEndpoint<E> {
  contentId: string;
  queries?: MicroCMSQueries;
}
export interface GetAllContentIdsRequest<E extends string = string> extends OfEndpoint<E> {
  /** The field to return instead of the ID, such as `url`. */
  alternateField?: string;
  draftKey?: string;
  filters?: string;
  orders?: string;
}
export interface GetAllContentRequest<E extends string = string> extends OfEndpoint<E> {
  queries?: Omit<MicroCMSQueries, "limit" | "offset" | "ids">;
}

/** An entry of this workspace at the depth of the request. With `fields`, some members are missing. */
type EntryOf<M, E, R> = At<M, R extends { queries: { depth: infer D extends Depth } } ? D : 1, E>;
type At<M, D, E> = D extends keyof M ? (E extends keyof M[D] ? M[D][E] : never) : never;

/**
 * The client, with those methods of microCMS's SDK that read. Without a type argument, content has the type of its
 * endpoint. `getAllContents` and `getAllContentIds` read all pages from one snapshot version and instant.
 */
export interface MicroCMSReader {
  get<T = any>(request: GetRequest): Promise<T>;
  getList<const R extends GetListRequest<keyof Lists>>(request: R): Promise<MicroCMSListResponse<EntryOf<ListsAt, R["endpoint"], R>>>;
  getList<T = any>(request: GetListRequest): Promise<MicroCMSListResponse<T>>;
  getListDetail<const R extends GetListDetailRequest<keyof Lists>>(request: R): Promise<EntryOf<ListsAt, R["endpoint"], R>>;
  getListDetail<T = any>(request: GetListDetailRequest): Promise<T & MicroCMSListContent>;
  getObject<const R extends GetObjectRequest<keyof Objects>>(request: R): Promise<EntryOf<ObjectsAt, R["endpoint"], R>>;
  getObject<T = any>(request: GetObjectRequest): Promise<T & MicroCMSObjectContent>;
  getAllContents<const R extends GetAllContentRequest<keyof Lists>>(request: R): Promise<EntryOf<ListsAt, R["endpoint"], R>[]>;
  getAllContents<T = any>(request: GetAllContentRequest): Promise<(T & MicroCMSListContent)[]>;
  getAllContentIds(request: GetAllContentIdsRequest): Promise<string[]>;
}

/** Returns a client. Throws if the address or the key is missing. */
export function createClient({ serviceDomain, apiKey, retry }: MicroCMSClient): MicroCMSReader {
  if (!serviceDomain || !apiKey) throw new Error("parameter is required (check serviceDomain and apiKey)");
  if (typeof serviceDomain !== "string" || typeof apiKey !== "string") throw new Error("parameter is not string");
  const url = serviceDomain.includes("://") ? serviceDomain : `https://${serviceDomain}`;
  const transport = new Transport({ url, key: apiKey, patience: retry ? 120 : 0, strict: false });

  async function get({ endpoint, contentId, queries = {}, customRequestInit }: GetRequest, snapshot?: string) {
    if (!endpoint) throw new Error("endpoint is required");
    const text = searchOf(queries);
    const path = [endpoint, ...(contentId ? [contentId] : [])].map(encodeURIComponent).join("/");
    try {
      return await transport.get<any>(text ? `${path}?${text}` : path, snapshot ? { "X-Snapshot": snapshot } : {}, customRequestInit);
    } catch (error) {
      throw error instanceof ContentError ? requestError(error) : error;
    }
  }

  async function getAll({ endpoint, queries = {}, customRequestInit }: GetListRequest): Promise<any[]> {
    const found: any[] = [];
    let snapshot: string | undefined;
    for (let total = 1; found.length < total; ) {
      const asked = { ...queries, limit: 100, offset: found.length };
      const page = await get({ endpoint, queries: asked, ...(customRequestInit && { customRequestInit }) }, snapshot);
      snapshot ??= factsOf(page).snapshot;
      found.push(...page.contents);
      total = page.contents.length > 0 ? page.totalCount : 0;
    }
    return found;
  }

  return {
    get: (request: GetRequest) => get(request),
    getList: (request: GetListRequest) => get(request),
    getListDetail: (request: GetListDetailRequest) => get(request),
    getObject: (request: GetObjectRequest) => get(request),
    getAllContents: (request: GetAllContentRequest) => getAll(request),
    async getAllContentIds({ endpoint, alternateField = "id", draftKey, filters, orders, customRequestInit }: GetAllContentIdsRequest) {
      const given = Object.entries({ draftKey, filters, orders }).filter(([, value]) => value !== undefined);
      const queries: MicroCMSQueries = { ...Object.fromEntries(given), fields: alternateField, depth: 0 };
      const contents = await getAll({ endpoint, queries, ...(customRequestInit && { customRequestInit }) });
      return contents.map((content) => {
        if (typeof content[alternateField] === "string") return content[alternateField];
        throw new Error("The value of the field specified by `alternateField` is not a string.");
      });
    },
  } as MicroCMSReader;
}

/** Returns whether an error comes from a failed request. */
export function isMicroCMSRequestError(error: unknown): error is MicroCMSRequestError {
  return error instanceof Error && "status" in error && "url" in error && "originalError" in error;
}

function requestError({ status, message, url, cause }: ContentError): MicroCMSRequestError {
  const text = status ? `fetch API response status: ${status}\n  message is \`${message}\`` : `Network Error.\n  Details: ${message}`;
  return Object.assign(new Error(text), { status: status || undefined, url, originalError: status ? undefined : cause });
}

/** Returns the query string for microCMS's parameters; `ids`, which this server does not have, becomes a filter. */
function searchOf({ ids, richEditorFormat = "html", ...rest }: MicroCMSQueries): string {
  const wanted = typeof ids === "string" ? ids.split(",") : ids;
  if (wanted && (rest.filters || wanted.length > 10)) throw new Error("ids: at most 10 are allowed, and only without filters.");
  if (richEditorFormat !== "html") throw new Error("richEditorFormat: rich text is HTML here.");
  const filters = wanted ? wanted.map((id) => `id[equals]${id}`).join("[or]") : rest.filters;
  const given = Object.entries({ ...rest, filters }).filter(([, value]) => value !== undefined);
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
}

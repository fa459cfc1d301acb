/** A failed request. `message` comes from the server; `status` is the HTTP status, or 0 if none is known. */
export class ContentError extends Error {
  override name = "ContentError";
  readonly status: number;
  readonly url: string;
  constructor(message: string, status: number, url: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.status = status;
    this.url = url;
  }
}
/** 400: a parameter is wrong; the message says which. */
export class BadRequest extends ContentError {
  override name = "BadRequest";
}
/** 401 and 403: the key is missing, not valid now, or belongs to another workspace. */
export class KeyRefused extends ContentError {
  override name = "KeyRefused";
}
/** 404: there is no such entry, it is not live, or the key may not read it. */
export class NotFound extends ContentError {
  override name = "NotFound";
}
/** 410: the server no longer keeps the snapshot version that the client is pinned to. */
export class SnapshotGone extends ContentError {
  override name = "SnapshotGone";
}
/** 429: the key's rate limit is used up, and the wait would be longer than `patience`. */
export class TooManyRequests extends ContentError {
  override name = "TooManyRequests";
}
/** 503: the server is busy or starting, and was so for as long as `patience`. */
export class Unavailable extends ContentError {
  override name = "Unavailable";
}
/** There was no answer: the server cannot be reached, the connection broke, or `timeout` was over. `cause` has the reason. */
export class Unreachable extends ContentError {
  override name = "Unreachable";
}
const errorKinds: { [status: number]: typeof ContentError } = {
  400: BadRequest, 401: KeyRefused, 403: KeyRefused, 404: NotFound, 410: SnapshotGone, 429: TooManyRequests, 503: Unavailable,
};

/** The settings of a client. */
export interface ClientSettings {
  /** The address of the server, such as `https://cms.example.com`, or of the workspace, such as `https://cms.example.com/v1/my-site`. */
  url: string;
  /** An API key. One that is sent to browsers is public. */
  key: string;
  /** How many seconds each try may take until the answer is there. Default 10; with 0, there is no limit. */
  timeout?: number;
  /**
   * For how many seconds after a call began it is tried again when the server answers 429, 500, 502, 503 or 504, or not
   * at all. Default 10, and 120 for `all`, `entries`, `pin` and pinned clients.
   */
  patience?: number;
  /** Called before each wait. Default: a line in the console, at most once a second. */
  onWait?: (wait: Wait) => void;
  /** Refuse what the server would otherwise ignore, such as unknown options. Default: where `NODE_ENV` is set, and not to `production`. */
  strict?: boolean;
  /** How many answers the client stores, so that the server need not send unchanged ones again. Default 100. */
  keep?: number;
  /** Passed to every `fetch`, such as `{ next: { revalidate: 60 } }`; the `init` of a call takes precedence. Redirects are never followed. */
  init?: RequestInit;
  /** Used instead of the global `fetch`. */
  fetch?: typeof fetch;
}
/** Why a call waits before it is tried again. */
export interface Wait {
  seconds: number;
  /** The message of the server, or why there was no answer. */
  reason: string;
  /** The HTTP status, or 0 if there was no answer. */
  status: number;
  url: string;
}
/** Facts about an answer, from its headers. */
export interface AnswerFacts {
  /** The snapshot version and instant that the answer is from, for `Client.at`. */
  snapshot: string | undefined;
  /** The time until which the answer stays right if nothing is published. */
  nextChange: Date | undefined;
  /** The tags of what the answer depends on; webhooks name the same tags. */
  tags: string[];
}

const factsOfAnswers = new WeakMap<object, AnswerFacts>();
/** Returns the facts about an answer. `answer` must be the object that a call returned, not a copy. */
export function factsOf(answer: object): AnswerFacts {
  return factsOfAnswers.get(answer) ?? { snapshot: undefined, nextChange: undefined, tags: [] };
}

interface KeptAnswer {
  etag: string;
  text: string;
}

/** Sends requests under `/v1`, tries again where that may help, and stores answers with their ETags. */
class Transport {
  readonly #settings: ClientSettings;
  /** The address of the server without a `/` at its end. */
  readonly #server: string;
  readonly #always: { [name: string]: string };
  readonly #kept = new Map<string, KeptAnswer>();

  constructor(settings: ClientSettings) {
    this.#settings = settings;
    this.#server = serverOf(settings.url);
    const key = String(settings.key).trim();
    // The message of `fetch` would hold the key.
    if (/[^!-~]/.test(key)) throw new Error("key: expected an API key such as pq_…, got a text with other characters.");
    this.#always = { "X-API-KEY": key, ...((settings.strict ?? isDeveloping()) && { Prefer: "handling=strict" }) };
  }

  /** Returns the address of a path of the workspace. */
  address(path: string): string {
    return `${this.#server}/v1/${encodeURIComponent(workspace)}/${path}`;
  }

  /** Returns the JSON at a path of the workspace. Throws `ContentError`. */
  async get<T extends object>(path: string, extra: { [name: string]: string }, init?: RequestInit, isLong = false): Promise<T> {
    const { patience = isLong ? 120 : 10, init: always } = this.#settings;
    const url = this.address(path);
    const headers = new Headers(always?.headers);
    new Headers(init?.headers).forEach((value, name) => headers.set(name, value));
    Object.entries({ ...this.#always, ...extra }).forEach(([name, value]) => headers.set(name, value));
    const place = JSON.stringify([url, extra]);
    const kept = this.#kept.get(place);
    if (kept !== undefined) headers.set("If-None-Match", kept.etag);
    // `fetch` sends all headers but `Authorization` along to another server.
    const request: RequestInit = { ...always, ...init, headers, redirect: "manual" };
    const giveUp = Date.now() + 1000 * patience;
    for (let tries = 0; ; tries++) {
      const found = await this.#received(url, request);
      if (!(found instanceof Unreachable)) {
        const { answer, text } = found;
        if (kept !== undefined && answer.status === 304) return this.#known(place, kept, path, answer);
        if (answer.ok) return this.#known(place, { etag: answer.headers.get("ETag") ?? "", text }, path, answer);
      }
      const failure = found instanceof Unreachable ? found : failureOf(found.answer, found.text, url);
      const wait = secondsToWait(failure.status, found instanceof Unreachable ? undefined : found.answer, tries);
      if (Date.now() + 1000 * wait > giveUp) throw failure;
      (this.#settings.onWait ?? sayWait)({ seconds: wait, reason: failure.message, status: failure.status, url: failure.url });
      await pause(wait, request.signal ?? undefined);
    }
  }

  /** Sends one request. Returns the whole answer, or the error that there was none in time. */
  async #received(url: string, request: RequestInit): Promise<{ answer: Response; text: string } | Unreachable> {
    const { timeout = 10, fetch: ask = fetch } = this.#settings;
    const own = timeout > 0 ? new AbortController() : undefined;
    const stop = () => own?.abort(request.signal?.reason);
    const timer = own && setTimeout(() => own.abort(), 1000 * timeout);
    request.signal?.addEventListener("abort", stop, { once: true });
    try {
      if (request.signal?.aborted) stop();
      const answer = await ask(url, own ? { ...request, signal: own.signal } : request);
      return { answer, text: await answer.text() };
    } catch (error) {
      if (request.signal?.aborted) throw request.signal.reason ?? error;
      const reason = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      const what = own?.signal.aborted ? ` within ${timeout} s` : "";
      return new Unreachable(`No answer from ${shown(url)}${what || `: ${String(reason)}`}`, 0, shown(url), error);
    } finally {
      clearTimeout(timer);
      request.signal?.removeEventListener("abort", stop);
    }
  }

  /** Stores an answer as the newest, and parses it: each caller gets an object of its own. */
  #known<T extends object>(place: string, kept: KeptAnswer, path: string, { headers, url }: Response): T {
    const { keep = 100 } = this.#settings;
    this.#kept.delete(place);
    if (kept.etag !== "" && keep > 0) this.#kept.set(place, kept);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= keep) break;
      this.#kept.delete(oldest);
    }
    const [version, instant, next, ignored] =
      ["X-Snapshot", "X-Snapshot-At", "X-Next-Change", "X-Ignored-Parameters"].map((name) => headers.get(name));
    if (ignored) sayIgnored(ignored, path);
    const value = parsed(kept.text, shown(url)) as T;
    const [api = ""] = path.split(/[/?]/);
    const entries = "contents" in value && Array.isArray(value.contents) ? value.contents : [value];
    entries.forEach((entry) => absolute(entry, places[api], this.#server));
    factsOfAnswers.set(value, {
      snapshot: version && instant ? `${version}@${instant}` : undefined,
      nextChange: next ? new Date(next) : undefined,
      tags: headers.get("X-Content-Tags")?.split(/[ ,]+/).filter(Boolean) ?? [],
    });
    return value;
  }
}

/** Returns the address of the server, whether `url` is that or the workspace's. */
function serverOf(url: string): string {
  // Not every runtime's `URL` takes an address apart.
  const [, origin, host = "", path = ""] = /^(https?:\/\/([^/?#\s]+))([^?#\s]*)/i.exec(url) ?? [];
  if (origin === undefined) {
    throw new Error(`url: expected an address such as https://cms.example.com, got ${JSON.stringify(url)}.`);
  }
  if (host.includes("@")) throw new Error("url: expected an address without a user name and a password.");
  const [, prefix = "", named] = /^(.*?)(?:\/v1(?:\/([^/]+))?)?\/*$/.exec(path) ?? [];
  if (named !== undefined && decodeURIComponent(named) !== workspace) {
    throw new Error(`url: it is the address of the workspace "${named}", and this client reads "${workspace}".`);
  }
  return origin + prefix.replace(/\/+$/, "");
}

// Bundlers and Node have it; other runtimes need not.
declare const process: { env?: { NODE_ENV?: string } } | undefined;

function isDeveloping(): boolean {
  try {
    const mode = typeof process === "undefined" ? undefined : process.env?.NODE_ENV;
    return !!mode && mode !== "production";
  } catch {
    return false; // Deno refuses to tell without a permission.
  }
}

let lastSaid = 0;
function sayWait({ seconds, reason, url }: Wait): void {
  if (Date.now() - lastSaid < 1000) return;
  lastSaid = Date.now();
  console.warn(`Waiting ${seconds.toFixed(1)} s before asking for ${url} again: ${reason}`);
}

const saidIgnored = new Set<string>();
function sayIgnored(names: string, path: string): void {
  const place = `${path.split("?")[0]} ${names}`;
  if (saidIgnored.has(place) || saidIgnored.size >= 100) return;
  saidIgnored.add(place);
  console.warn(`The server ignored parameters of ${shown(path)}: ${names}`);
}

/** Returns an address without a draft key. */
function shown(url: string): string {
  return url.replace(/([?&]draftKey=)[^&#]*/g, "$1***");
}

function failureOf(answer: Response, text: string, url: string): ContentError {
  return new (errorKinds[answer.status] ?? ContentError)(messageOf(text, answer), answer.status, shown(url));
}

/** Parses the body of an answer with the status 200, which may still come from a proxy. */
function parsed(text: string, url: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ContentError(`The answer from ${url} is not JSON. Check that this is the address of the delivery API.`, 200, url, error);
  }
  if (typeof value === "object" && value !== null) return value;
  throw new ContentError(`The answer from ${url} is not a JSON object. Check that this is the address of the delivery API.`, 200, url);
}

/** Returns whether an answer sends elsewhere. Browsers hide all else of it, the status included. */
function isRedirect({ status, type }: Response): boolean {
  return type === "opaqueredirect" || [301, 302, 303, 307, 308].includes(status);
}

function messageOf(text: string, answer: Response): string {
  if (isRedirect(answer)) {
    const target = shown(answer.headers.get("Location") ?? "another address");
    return `The server redirects to ${target}, where the key is not sent. Set url to the address that answers itself.`;
  }
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    if (typeof message === "string") return message;
  } catch {
    // The answer came from a proxy, not from the server.
  }
  return `HTTP ${answer.status} ${answer.statusText}`.trim();
}

/** Returns how many seconds to wait before the next try; infinity where another try cannot help. */
function secondsToWait(status: number, answer: Response | undefined, tries: number): number {
  if (![0, 429, 500, 502, 503, 504].includes(status) || (answer && isRedirect(answer))) return Infinity;
  // Clients that failed together do not come back together.
  const growing = Math.min(0.5 * 2 ** tries, 15) * (0.75 + Math.random() / 2);
  const headers = answer?.headers;
  const told = headers?.get("Retry-After") ?? (status === 429 ? /;\s*t=(\d+)/.exec(headers?.get("RateLimit") ?? "")?.[1] : undefined);
  if (told == null) return growing;
  const seconds = /^\d+$/.test(told) ? Number(told) : (Date.parse(told) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? growing : Math.max(seconds, growing);
}

function pause(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason ?? new Error("The call was aborted."));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, 1000 * seconds);
    signal?.addEventListener("abort", stop, { once: true });
    if (signal?.aborted) stop();
  });
}

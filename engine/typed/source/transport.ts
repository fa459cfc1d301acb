/** A failed request. `message` comes from the server; `status` is the HTTP status, or 0 if there was no answer. */
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
/** 503: the server is busy or starting, and the wait would be longer than `patience`. */
export class Unavailable extends ContentError {
  override name = "Unavailable";
}
/** There was no answer: the server cannot be reached, or the connection broke. `cause` has the reason. */
export class Unreachable extends ContentError {
  override name = "Unreachable";
}
const errorKinds: { [status: number]: typeof ContentError } = {
  400: BadRequest, 401: KeyRefused, 403: KeyRefused, 404: NotFound, 410: SnapshotGone, 429: TooManyRequests, 503: Unavailable,
};

/** The settings of a client. */
export interface ClientSettings {
  /** The address of the server, such as `https://cms.example.com`. */
  url: string;
  /** An API key. One that is sent to browsers is public. */
  key: string;
  /** How many seconds one call may wait in all when the server answers 429 or 503. Default 120. */
  patience?: number;
  /** How many answers the client stores, so that the server need not send unchanged ones again. Default 100. */
  keep?: number;
  /** Passed to every `fetch`, such as `{ next: { revalidate: 60 } }`; the `init` of a call takes precedence. */
  init?: RequestInit;
  /** Used instead of the global `fetch`. */
  fetch?: typeof fetch;
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

/** Sends requests under `/v1`, waits and retries on 429 and 503, and stores answers with their ETags. */
class Transport {
  readonly #settings: ClientSettings;
  readonly #kept = new Map<string, KeptAnswer>();

  constructor(settings: ClientSettings) {
    this.#settings = settings;
  }

  /** Returns the JSON at a path of the workspace. Throws `ContentError`. */
  async get<T extends object>(path: string, extra: { [name: string]: string }, init?: RequestInit): Promise<T> {
    const { url: server, key, patience = 120, fetch: ask = fetch, init: always } = this.#settings;
    const url = `${server.replace(/\/+$/, "")}/v1/${encodeURIComponent(workspace)}/${path}`;
    const headers = new Headers(always?.headers);
    new Headers(init?.headers).forEach((value, name) => headers.set(name, value));
    Object.entries({ "X-API-KEY": key, ...extra }).forEach(([name, value]) => headers.set(name, value));
    const place = JSON.stringify([url, extra]);
    const kept = this.#kept.get(place);
    if (kept !== undefined) headers.set("If-None-Match", kept.etag);
    const request = { ...always, ...init, headers };
    const giveUp = Date.now() + 1000 * patience;
    for (;;) {
      const { answer, text } = await received(ask, url, request);
      if (kept !== undefined && answer.status === 304) return this.#known(place, kept, answer);
      if (answer.ok) return this.#known(place, { etag: answer.headers.get("ETag") ?? "", text }, answer);
      const wait = answer.status === 429 || answer.status === 503 ? secondsToWait(answer.headers) : Infinity;
      if (Date.now() + 1000 * wait > giveUp) {
        throw new (errorKinds[answer.status] ?? ContentError)(messageOf(text, answer), answer.status, url);
      }
      await pause(wait, request.signal ?? undefined);
    }
  }

  /** Stores an answer as the newest, and parses it: each caller gets an object of its own. */
  #known<T extends object>(place: string, answer: KeptAnswer, { headers, url }: Response): T {
    const { keep = 100 } = this.#settings;
    this.#kept.delete(place);
    if (answer.etag !== "" && keep > 0) this.#kept.set(place, answer);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= keep) break;
      this.#kept.delete(oldest);
    }
    const [version, instant, next] = ["X-Snapshot", "X-Snapshot-At", "X-Next-Change"].map((name) => headers.get(name));
    const value = parsed(answer.text, url) as T;
    factsOfAnswers.set(value, {
      snapshot: version && instant ? `${version}@${instant}` : undefined,
      nextChange: next ? new Date(next) : undefined,
      tags: headers.get("X-Content-Tags")?.split(/[ ,]+/).filter(Boolean) ?? [],
    });
    return value;
  }
}

async function received(ask: typeof fetch, url: string, request: RequestInit) {
  try {
    const answer = await ask(url, request);
    return { answer, text: await answer.text() };
  } catch (error) {
    if (request.signal?.aborted) throw error;
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new Unreachable(`No answer from ${url}: ${String(reason)}`, 0, url, error);
  }
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

function messageOf(text: string, answer: Response): string {
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    if (typeof message === "string") return message;
  } catch {
    // The answer came from a proxy, not from the server.
  }
  return `HTTP ${answer.status} ${answer.statusText}`.trim();
}

/** Returns the seconds in `Retry-After`, which may be a date; without that header, those in `RateLimit`. */
function secondsToWait(headers: Headers): number {
  const told = headers.get("Retry-After") ?? /;\s*t=(\d+)/.exec(headers.get("RateLimit") ?? "")?.[1] ?? "1";
  const seconds = /^\d+$/.test(told) ? Number(told) : (Date.parse(told) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? 1 : Math.max(seconds, 0.1);
}

function pause(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, 1000 * seconds);
    signal?.addEventListener("abort", stop, { once: true });
    if (signal?.aborted) stop();
  });
}

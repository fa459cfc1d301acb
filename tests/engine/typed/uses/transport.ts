// What the client sends, seen by a server that answers from a script. Each line of input is an address and what to do.
import { Client, ContentError, factsOf } from "./komugi.js";
import type { ClientSettings } from "./komugi.js";

declare const process: { stdin: AsyncIterable<Uint8Array> };

// Waits of minutes take a second: the timer that begins after `onWait` is theirs.
let isWait = false;
const unhurried = globalThis.setTimeout;
globalThis.setTimeout = ((then: () => void, ms: number, ...rest: []) => {
  [ms, isWait] = [isWait ? ms / 100 : ms, false];
  return unhurried(then, ms, ...rest);
}) as typeof setTimeout;

const settings: { [task: string]: Partial<ClientSettings> } = {
  impatient: { patience: 0 }, abort: { patience: 120 }, waits: { patience: 120 }, hurry: { patience: 0, timeout: 0.2 }, "hurry-on": { patience: 60, timeout: 0.2 },
};

async function done(url: string, task: string): Promise<unknown> {
  const waits: unknown[] = [];
  const onWait: ClientSettings["onWait"] = (wait) => {
    isWait = true;
    waits.push([wait.status, wait.seconds, wait.reason, wait.url]);
  };
  const content = new Client({ url, key: "the_key", onWait, timeout: 0, ...settings[task] });
  switch (task) {
    case "pages": {
      const ids: string[] = [];
      for await (const bread of content.all("breads", { fields: ["name"] })) ids.push(bread.id);
      return ids;
    }
    case "pin": {
      const pinned = await content.pin();
      return [pinned.snapshot, (await pinned.list("breads")).totalCount, content.snapshot ?? null];
    }
    case "etag": {
      const first = await content.list("breads");
      first.contents.length = 0;
      const second = await content.list("breads");
      return [first === second, second.contents.length, factsOf(second).nextChange, factsOf(second).tags];
    }
    case "abort": {
      const stop = new AbortController();
      setTimeout(() => stop.abort(new Error("stopped")), 100);
      return content.list("breads", {}, { signal: stop.signal }).catch((error: unknown) => String(error));
    }
    case "all": {
      let count = 0;
      for await (const _ of content.all("breads")) count++;
      return count;
    }
    case "pinned": return (await content.at("x@y").list("breads")).totalCount;
    case "entries": return (await content.entries("breads", ["n0", "n7", "no entry", "n0"])).length;
    case "many": return (await content.entries("breads", Array.from({ length: 25 }, (_, n) => `n${n}`))).map((one) => one.id);
    case "object": return content.object("shop");
    case "waits": return [(await content.list("breads")).totalCount, waits];
    case "impatient": return content.list("breads", { limit: 3 });
    default: return (await content.list("breads")).totalCount;
  }
}

function failed(error: unknown, task: string): unknown {
  if (!(error instanceof ContentError)) return ["Error", 0, (error as Error).message];
  const facts = [error.name, error.status, error.message];
  return task === "impatient" ? [...facts, error.url] : facts;
}

for await (const line of process.stdin) {
  const [url, task] = new TextDecoder().decode(line).trimEnd().split(" ") as [string, string];
  console.log(JSON.stringify(await done(url, task).catch((error: unknown) => failed(error, task))));
}

// What the client sends, seen by a server that answers from a script. Each line of input is an address and what to do.
import { Client, ContentError, factsOf } from "./komugi.js";

declare const process: { stdin: AsyncIterable<Uint8Array> };

async function done(url: string, task: string): Promise<unknown> {
  const content = new Client({ url, key: "the key", patience: task === "impatient" ? 1 : 60 });
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
    default:
      return content.list("breads").then((page) => page.totalCount, (error: ContentError) => [error.name, error.status, error.message]);
  }
}
for await (const line of process.stdin) {
  const [url, task] = new TextDecoder().decode(line).trimEnd().split(" ") as [string, string];
  console.log(JSON.stringify(await done(url, task)));
}

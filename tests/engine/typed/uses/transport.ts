// What the client sends, seen by a server that answers from a script. The second argument is what to do.
import { Client, ContentError, factsOf } from "./komugi.js";

declare const process: { argv: string[] };
const [url, task] = process.argv.slice(2) as [string, string];
const content = new Client({ url, key: "the key", patience: task === "impatient" ? 1 : 60 });

async function done(): Promise<unknown> {
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
console.log(JSON.stringify(await done()));

// Reads all entries, and stops after the first until it is told to go on.
import { Client } from "./acme.js";

declare const process: { argv: string[]; stdin: { once(event: "data", then: () => void): void; unref(): void } };
const [url, key] = process.argv.slice(2) as [string, string];
const content = new Client({ url, key });
const titles: (string | null)[] = [];
for await (const post of content.all("posts")) {
  titles.push(post.title);
  if (titles.length > 1) continue;
  console.log("first");
  await new Promise<void>((resolve) => process.stdin.once("data", resolve));
  process.stdin.unref();
}
console.log(JSON.stringify([titles, (await content.list("posts", { limit: 1 })).contents[0]?.title]));

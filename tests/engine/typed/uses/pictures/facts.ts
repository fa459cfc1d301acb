// Prints what a client returns for a task: an entry, addresses of pictures, or nothing but its words.
import { Client, image, srcset } from "./pics.js";
import type { ImageOptions } from "./pics.js";
import { image as plainImage, srcset as plainSrcset } from "./copied.js";

declare const process: { argv: string[] };
const [task, url = "", key = ""] = process.argv.slice(2);
type Picture = { url: string; width: number | null };

async function done(): Promise<unknown> {
  switch (task) {
    case "entries": {
      const content = new Client({ url, key, keep: 0 });
      const [page, entry, draft] = [await content.list("posts"), await content.entry("posts", "x"), await content.entryDraft("posts", "x", "d")];
      return [page.contents[0], entry, draft, await content.object("home")];
    }
    case "pictures": {
      const cases = JSON.parse(url) as [Picture, ImageOptions, number[] | null][];
      return cases.map(([picture, options, widths]) => [
        image(picture, options), widths ? srcset(picture, widths, { q: 50 }) : srcset(picture), plainImage(picture, options), plainSrcset(picture),
      ]);
    }
    case "strict": {
      for (const strict of [undefined, true, false]) {
        await new Client({ url, key, keep: 0, ...(strict !== undefined && { strict }) }).list("posts");
      }
      return null;
    }
    default: {
      const content = new Client({ url, key });
      for (let call = 0; call < 3; call++) await content.list("posts", { limit: 3 });
      return null;
    }
  }
}
console.log(JSON.stringify(await done().catch((error: Error) => error.message)));

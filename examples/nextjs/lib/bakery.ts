import { cacheLife, cacheTag } from "next/cache";
import { Client, factsOf } from "./content";

/** The address of the content's server, or of the workspace. */
export const contentUrl = process.env["CMS_URL"] ?? "http://127.0.0.1:8787";

/** The content. Next.js keeps what is made of the answers, so the client keeps none of them. */
export const bakery = new Client({ url: contentUrl, key: process.env["CMS_KEY"] ?? "", keep: 0 });

const YEAR = 365 * 24 * 60 * 60;

/**
 * Keeps what the function with `"use cache"` around it makes of an answer for as long as the answer stays right: until the
 * next change on schedule, or until a webhook names one of the answer's tags. Of several answers, the shortest time counts.
 */
export function kept<T extends object>(answer: T): T {
  const { nextChange, tags } = factsOf(answer);
  const left = nextChange ? Math.ceil((nextChange.getTime() - Date.now()) / 1000) : YEAR;
  const seconds = Math.min(Math.max(left, 1), YEAR);
  cacheLife({
    stale: 30, // how long a browser that goes from page to page uses what it has
    revalidate: seconds,
    expire: Math.max(seconds, 300), // with less, `next build` makes no page
  });
  for (const tag of tags) cacheTag(tag); // one by one: of more than 128 at once, the rest is dropped
  return answer;
}

import { error } from "@sveltejs/kit";
import { ContentError } from "$lib/content";
import { bakery } from "$lib/server/bakery";

/**
 * Shows a draft: /preview?id=…&lang=…&draftKey=…, as `preview_url` in apis/journal.yaml has it. No other page is different
 * meanwhile, and there is nothing to be signed out of.
 */
export async function load({ url, setHeaders }) {
  const id = url.searchParams.get("id") ?? "";
  const lang = url.searchParams.get("lang") === "ja" ? "ja" : "en";
  const key = url.searchParams.get("draftKey") ?? "";
  // Whoever has the address sees the draft: nobody keeps the page, and links on it do not pass the address on.
  setHeaders({ "Cache-Control": "private, no-store", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex" });
  try {
    const entry = await bakery.entryDraft("journal", id, key, { lang, include: "_langs" });
    return { entry, published: `/journal/${encodeURIComponent(id)}` };
  } catch (failure) {
    if (failure instanceof ContentError) error(failure.status || 502, failure.message);
    throw failure;
  }
}

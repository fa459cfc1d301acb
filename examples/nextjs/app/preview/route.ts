import { redirect } from "next/navigation";
import { NextResponse, type NextRequest } from "next/server";
import { bakery } from "../../lib/bakery";
import { ContentError } from "../../lib/content";
import { begin } from "../../lib/preview";

/**
 * Shows a draft: /preview?id=…&lang=…&draftKey=…, as `preview_url` in apis/journal.yaml can have it:
 * `preview_url: https://site.example/preview?id={id}&lang={lang}&draftKey={draftKey}`.
 */
export async function GET(request: NextRequest) {
  const id = request.nextUrl.searchParams.get("id") ?? "";
  const lang = request.nextUrl.searchParams.get("lang") === "ja" ? "ja" : "en";
  const key = request.nextUrl.searchParams.get("draftKey") ?? "";
  try {
    // Only who has the key of a draft gets into a preview.
    await bakery.entryDraft("journal", id, key, { lang, fields: ["title"] });
  } catch (error) {
    if (error instanceof ContentError) return new NextResponse(error.message, { status: error.status || 502 });
    throw error;
  }
  const path = `/journal/${encodeURIComponent(id)}`;
  await begin({ path, lang, key });
  redirect(path);
}

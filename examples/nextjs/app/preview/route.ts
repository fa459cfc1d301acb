import { cookies, draftMode } from "next/headers";
import { redirect } from "next/navigation";
import { NextResponse, type NextRequest } from "next/server";
import { bakery } from "../../lib/bakery";
import { ContentError } from "../../lib/content";

/**
 * Shows a draft: /preview?id=…&draftKey=…, as `preview_url` in apis/journal.yaml can have it:
 * `preview_url: https://site.example/preview?id={id}&draftKey={draftKey}`.
 */
export async function GET(request: NextRequest) {
  const id = request.nextUrl.searchParams.get("id") ?? "";
  const key = request.nextUrl.searchParams.get("draftKey") ?? "";
  try {
    // Only who has the key of a draft gets into draft mode.
    await bakery.entryDraft("journal", id, key, { fields: ["title"] });
  } catch (error) {
    if (error instanceof ContentError) return new NextResponse(error.message, { status: error.status || 502 });
    throw error;
  }
  (await draftMode()).enable();
  (await cookies()).set("draft-key", key, { httpOnly: true, path: "/", sameSite: "none", secure: true });
  redirect(`/journal/${encodeURIComponent(id)}`);
}

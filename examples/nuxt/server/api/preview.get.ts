import { ContentError } from "../../utils/content";

/** The draft of an entry, for those who have its key. */
export default defineEventHandler(async (event) => {
  const { id, lang: asked, draftKey } = getQuery(event);
  const lang = asked === "ja" ? "ja" : "en";
  try {
    return await bakery.entryDraft("journal", String(id), String(draftKey), { lang, include: "_langs" });
  } catch (failure) {
    if (!(failure instanceof ContentError)) throw failure;
    throw createError({ statusCode: failure.status || 502, message: failure.message });
  }
});

import { bakery } from "./bakery";
import { Picture } from "./picture";
import { useAnswer } from "./use-answer";

/**
 * An entry in the language of the address, or its draft where the address has a draft key. In apis/breads.yaml:
 * `preview_url: https://site.example/?bread={id}&lang={lang}&draftKey={draftKey}`.
 */
export function Bread({ id }: { id: string }) {
  const asked = new URLSearchParams(location.search);
  const lang = asked.get("lang") === "ja" ? "ja" : "en";
  const key = asked.get("draftKey");
  const { answer, error } = useAnswer(
    (signal) =>
      key
        ? bakery.entryDraft("breads", id, key, { lang, include: "_langs" }, { signal })
        : bakery.entry("breads", id, { lang, lang_fallback: true, include: "_langs" }, { signal }),
    [id, lang, key],
  );
  if (error) return <p role="status">The bread cannot be shown: {error.message}</p>;
  if (!answer) return <p role="status">One moment…</p>;
  return (
    <>
      {key && (
        <aside className="preview">
          These changes are not published. <a href={`?bread=${id}&lang=${lang}`}>Leave the preview</a>
        </aside>
      )}
      <article lang={answer._langs?.current}>
        <h1>{answer.name}</h1>
        <p className="facts">¥{answer.price?.toLocaleString("en")}</p>
        <Picture picture={answer.photo} sizes="(min-width: 48rem) 44rem, 100vw" />
        <div className="story" dangerouslySetInnerHTML={{ __html: answer.story ?? "" }} />
      </article>
    </>
  );
}

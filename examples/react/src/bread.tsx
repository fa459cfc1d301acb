import { bakery } from "./bakery";
import { Picture } from "./picture";
import { useAnswer } from "./use-answer";

/**
 * An entry, or its draft where the address has a draft key. In apis/breads.yaml:
 * `preview_url: https://site.example/?bread={id}&draftKey={draftKey}`.
 */
export function Bread({ id }: { id: string }) {
  const key = new URLSearchParams(location.search).get("draftKey");
  const { answer, error } = useAnswer(
    (signal) => (key ? bakery.entryDraft("breads", id, key, {}, { signal }) : bakery.entry("breads", id, {}, { signal })),
    [id, key],
  );
  if (error) return <p role="status">The bread cannot be shown: {error.message}</p>;
  if (!answer) return <p role="status">One moment…</p>;
  return (
    <>
      {key && (
        <aside className="preview">
          These changes are not published. <a href={`?bread=${id}`}>Leave the preview</a>
        </aside>
      )}
      <article>
        <h1>{answer.name}</h1>
        <p className="facts">¥{answer.price?.toLocaleString("en")}</p>
        <Picture picture={answer.photo} sizes="(min-width: 48rem) 44rem, 100vw" />
        <div className="story" dangerouslySetInnerHTML={{ __html: answer.story ?? "" }} />
      </article>
    </>
  );
}

import { cookies, draftMode } from "next/headers";
import { notFound } from "next/navigation";
import { bakery, kept } from "../../../lib/bakery";
import { NotFound } from "../../../lib/content";

interface Props {
  params: Promise<{ id: string }>;
}

/** The pages that are made when the site is built; later ones are made when they are first asked for. */
export async function generateStaticParams() {
  const ids = [];
  for await (const { id } of bakery.all("journal", { fields: ["title"] })) ids.push({ id });
  return ids;
}

/** The entry as it is published, `undefined` where it is not. */
async function published(id: string) {
  "use cache";
  // A list of one, as an empty list tells when the entry will be in it; a 404 does not.
  const { contents } = kept(await bakery.list("journal", { filters: { and: [["id", "equals", id]] }, limit: 1 }));
  return contents[0];
}

/** The draft of the entry, which is asked for each time. */
async function draft(id: string, key: string) {
  try {
    return await bakery.entryDraft("journal", id, key);
  } catch (error) {
    if (error instanceof NotFound) return undefined;
    throw error;
  }
}

export default async function Entry({ params }: Props) {
  const { id } = await params;
  // In draft mode a preview is under way: see /preview.
  const key = (await draftMode()).isEnabled ? (await cookies()).get("draft-key")?.value : undefined;
  const entry = key ? await draft(id, key) : await published(id);
  if (!entry) notFound();
  const author = typeof entry.author === "object" ? entry.author?.name : entry.author;
  return (
    <main>
      <h1>{entry.title}</h1>
      {author ? <p>By {author}</p> : null}
      <div dangerouslySetInnerHTML={{ __html: entry.body ?? "" }} />
    </main>
  );
}

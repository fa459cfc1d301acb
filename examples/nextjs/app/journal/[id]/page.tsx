import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { bakery, kept } from "../../../lib/bakery";
import { Picture } from "../../../lib/picture";
import { shown } from "../../../lib/preview";

/** `next dev` need not check how soon this page shows: it would complain of each entry that is not found. */
export const instant = false;

const DAY = new Intl.DateTimeFormat("en", { dateStyle: "long", timeZone: "Asia/Tokyo" });

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

/** The entry as the page shows it: its draft in a preview. */
async function entryOf({ params }: Props) {
  const { id } = await params;
  return shown(
    `/journal/${id}`,
    ({ key, lang }) => bakery.entryDraft("journal", id, key, { lang, include: "_langs" }),
    () => published(id),
  );
}

export async function generateMetadata(props: Props): Promise<Metadata> {
  const entry = await entryOf(props);
  return entry ? { title: entry.title } : {};
}

export default async function Entry(props: Props) {
  const entry = await entryOf(props);
  if (!entry) notFound();
  const author = typeof entry.author === "object" ? entry.author?.name : entry.author;
  return (
    <article lang={entry._langs?.current}>
      <h1>{entry.title}</h1>
      <p className="facts">
        {author ? `By ${author}, ` : ""}
        <time dateTime={entry.publishedAt}>{DAY.format(new Date(entry.publishedAt))}</time>
      </p>
      <Picture picture={entry.cover} sizes="(min-width: 48rem) 44rem, 100vw" first />
      <div className="story" dangerouslySetInnerHTML={{ __html: entry.body ?? "" }} />
    </article>
  );
}

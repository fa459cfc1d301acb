import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { bakery, kept } from "../../../lib/bakery";
import { Picture } from "../../../lib/picture";

/** `next dev` need not check how soon this page shows: it would complain of each entry that is not found. */
export const instant = false;

interface Props {
  params: Promise<{ id: string }>;
}

export async function generateStaticParams() {
  const ids = [];
  for await (const { id } of bakery.all("breads", { fields: ["name"] })) ids.push({ id });
  return ids;
}

async function published(id: string) {
  "use cache";
  const { contents } = kept(await bakery.list("breads", { filters: { and: [["id", "equals", id]] }, limit: 1 }));
  return contents[0];
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const bread = await published((await params).id);
  return bread ? { title: bread.name, description: bread.summary } : {};
}

export default async function Bread({ params }: Props) {
  const bread = await published((await params).id);
  if (!bread) notFound();
  const baker = typeof bread.baker === "object" ? bread.baker?.name : bread.baker;
  return (
    <article>
      <h1>{bread.name}</h1>
      <p className="facts">
        ¥{bread.price?.toLocaleString("en")}
        {baker ? `, baked by ${baker}` : ""}
      </p>
      <Picture picture={bread.photo} sizes="(min-width: 48rem) 44rem, 100vw" first />
      <div className="story" dangerouslySetInnerHTML={{ __html: bread.story ?? "" }} />
    </article>
  );
}

import Link from "next/link";
import { bakery, kept } from "../lib/bakery";

export default async function Home() {
  "use cache";
  const shop = kept(await bakery.object("shop", { fields: ["title", "welcome"] }));
  const breads = kept(await bakery.list("breads", { fields: ["name", "price"], orders: ["name"], limit: 100 }));
  const news = kept(await bakery.list("journal", { fields: ["title"], orders: ["-publishedAt"], limit: 5 }));
  return (
    <main>
      <h1>{shop.title}</h1>
      <p>{shop.welcome}</p>
      <ul>
        {breads.contents.map((bread) => (
          <li key={bread.id}>
            {bread.name}, {bread.price} yen
          </li>
        ))}
      </ul>
      <h2>News</h2>
      <ul>
        {news.contents.map((entry) => (
          <li key={entry.id}>
            <Link href={`/journal/${entry.id}`}>{entry.title}</Link>
          </li>
        ))}
      </ul>
    </main>
  );
}

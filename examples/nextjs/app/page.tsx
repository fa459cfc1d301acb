import Link from "next/link";
import { bakery, kept } from "../lib/bakery";
import { Picture } from "../lib/picture";

export default async function Home() {
  "use cache";
  const shop = kept(await bakery.object("shop", { fields: ["title", "welcome", "shopfront"] }));
  const breads = kept(
    await bakery.list("breads", { fields: ["name", "summary", "price", "photo"], orders: ["name"], limit: 100 }),
  );
  const journal = kept(await bakery.list("journal", { fields: ["title", "cover"], limit: 6 }));
  return (
    <>
      <section className="hero">
        <div>
          <h1>{shop.title}</h1>
          <p className="lead">{shop.welcome}</p>
        </div>
        <Picture picture={shop.shopfront} sizes="(min-width: 48rem) 33rem, 100vw" first />
      </section>
      <section id="breads">
        <h2>Breads</h2>
        <ul className="cards">
          {breads.contents.map((bread) => (
            <li key={bread.id}>
              <Link href={`/breads/${bread.id}`}>
                <Picture picture={bread.photo} sizes="(min-width: 40rem) 22rem, 100vw" />
                <div>
                  <h3>{bread.name}</h3>
                  <p>{bread.summary}</p>
                  <p className="price">¥{bread.price?.toLocaleString("en")}</p>
                </div>
              </Link>
            </li>
          ))}
        </ul>
      </section>
      <section id="journal">
        <h2>From the journal</h2>
        <ul className="cards">
          {journal.contents.map((entry) => (
            <li key={entry.id}>
              <Link href={`/journal/${entry.id}`}>
                <Picture picture={entry.cover} sizes="(min-width: 40rem) 22rem, 100vw" />
                <div>
                  <h3>{entry.title}</h3>
                </div>
              </Link>
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}

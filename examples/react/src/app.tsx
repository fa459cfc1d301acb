import { useState } from "react";
import { bakery } from "./bakery";
import { Bread } from "./bread";
import { Picture } from "./picture";
import { useAnswer } from "./use-answer";

/** The page: an entry where the address names one (`?bread=milk-roll`), else all breads. */
export function App() {
  const id = new URLSearchParams(location.search).get("bread");
  return (
    <>
      <header className="top">
        <a className="brand" href="/">
          <img src="/icon.svg" alt="" width={36} height={36} />
          Komugi
        </a>
      </header>
      <main>{id ? <Bread id={id} /> : <Breads />}</main>
      <footer className="bottom">3 Oven Lane, Komugi</footer>
    </>
  );
}

function Breads() {
  const [lang, setLang] = useState<"en" | "ja">("en");
  const [q, setQ] = useState("");
  const { answer, error } = useAnswer(
    (signal) =>
      bakery.list(
        "breads",
        { fields: ["name", "summary", "price", "photo"], orders: ["name"], limit: 100, lang, lang_fallback: true, q },
        { signal },
      ),
    [lang, q],
  );
  return (
    <section>
      <h1>Bread from a wood-fired oven</h1>
      <h2>All breads</h2>
      <p>
        <label>
          Language{" "}
          <select value={lang} onChange={(event) => setLang(event.target.value as "en" | "ja")}>
            <option value="en">English</option>
            <option value="ja">日本語</option>
          </select>
        </label>{" "}
        <label>
          Search <input type="search" maxLength={100} value={q} onChange={(event) => setQ(event.target.value)} />
        </label>
      </p>
      <p role="status">{error ? `The breads cannot be shown: ${error.message}` : answer && `${answer.totalCount} found`}</p>
      <ul className="cards">
        {answer?.contents.map((bread) => (
          <li key={bread.id}>
            <a href={`?bread=${bread.id}`}>
              <Picture picture={bread.photo} sizes="(min-width: 40rem) 22rem, 100vw" />
              <div>
                <h3>{bread.name}</h3>
                <p>{bread.summary}</p>
                <p className="price">¥{bread.price?.toLocaleString("en")}</p>
              </div>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

// A page without a build: it requests content from the browser, and reports its own view.
const { content: server, dataset } = document.querySelector("meta[name=cms]");
const [list, message, template] = ["breads", "message", "bread"].map((id) => document.getElementById(id));
const [language, search] = ["language", "search"].map((id) => document.getElementById(id));

let earlier = new AbortController();

async function show() {
  // An answer to what was typed before must not replace the answer to what is typed now.
  earlier.abort();
  const { signal } = (earlier = new AbortController());
  const query = new URLSearchParams({ fields: "name,price,photo", orders: "name", limit: 100, lang: language.value, lang_fallback: true, q: search.value });
  try {
    const answer = await fetch(`${server}/v1/komugi/breads?${query}`, { headers: { "X-API-KEY": dataset.key }, signal });
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.message);
    // Text is set as text: nothing that an editor writes becomes markup here.
    list.replaceChildren(...found.contents.map(({ name, price, photo }) => {
      const item = template.content.cloneNode(true);
      item.querySelector("h3").textContent = name;
      item.querySelector(".price").textContent = `¥${price.toLocaleString("en")}`;
      if (photo) paint(item.querySelector("img"), photo);
      else item.querySelector("img").remove();
      return item;
    }));
    message.textContent = `${found.totalCount} found`;
  } catch (error) {
    if (!signal.aborted) message.textContent = `The breads cannot be shown: ${error.message}`;
  }
}

// The server makes a picture in each of these widths; the browser takes the smallest that is sharp.
function paint(img, { url, alt, width, height }) {
  const address = new URL(url, server).href;
  const widths = width ? [384, 640, 828, 1200, 1920].filter((one) => one <= width) : [];
  img.srcset = widths.map((one) => `${address}?w=${one}&auto=format ${one}w`).join(", ");
  Object.assign(img, { src: address, alt: alt ?? "", ...(width && height && { width, height }) });
}

language.addEventListener("change", show);
search.addEventListener("input", show);
await show();

// Counts this page as viewed, if its domain is one of those in workspace.yaml. It never fails, and needs no key.
navigator.sendBeacon(`${server}/pv/komugi`, JSON.stringify({ path: location.pathname }));

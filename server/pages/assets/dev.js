// Asks once a second whether there was a build; after one, puts the new page in the place of the old.
"use strict";

const news = document.getElementById("news");
let quiet;

function say(text) {
  clearTimeout(quiet);
  news.textContent = text;
  quiet = text === "" ? undefined : setTimeout(() => { news.textContent = ""; }, 4000);
}

async function refresh() {
  const answer = await fetch(location.href);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const main = document.querySelector("main");
  const focused = main.contains(document.activeElement) ? document.activeElement : null;
  const index = focused && [...main.querySelectorAll("a, input, select, button, summary")].indexOf(focused);
  // What somebody is typing in is not taken from under their hands.
  if (focused && focused.matches("input, select")) return false;
  document.title = page.title;
  document.querySelector("header").replaceWith(page.querySelector("header"));
  main.replaceWith(page.querySelector("main"));
  fit(); // the frames of rich text, as frames.js has it
  if (focused) document.querySelector("main").querySelectorAll("a, input, select, button, summary")[index]?.focus();
  return true;
}

async function look() {
  next = undefined;
  try {
    const { build } = await (await fetch("/_dev/state")).json();
    if (String(build) !== document.querySelector("main").dataset.build && await refresh()) {
      say(document.querySelector("#built strong")?.textContent ?? "");
    }
  } catch {
    say("cms dev is not running");
  }
  next = setTimeout(look, document.hidden ? 5000 : 1000);
}

let next = setTimeout(look, 1000);
document.addEventListener("visibilitychange", () => {
  if (document.hidden || next === undefined) return;
  clearTimeout(next);
  look();
});

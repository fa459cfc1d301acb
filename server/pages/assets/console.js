// What forms cannot do: copying, and a dialog that closes only once its key is copied. Pages work without it.
"use strict";

document.documentElement.classList.add("script");

const issued = document.querySelector("dialog.issued");

function told(text) {
  const status = document.getElementById("copied");
  if (status) status.textContent = text;
}

async function copy(text, field) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { // not allowed over plain HTTP
    if (!field) return false;
    field.select();
    return document.execCommand("copy");
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  const field = button.closest(".copy")?.querySelector("input");
  const done = await copy(button.dataset.copy, field);
  const label = button.textContent;
  button.textContent = done ? "Copied" : "Copy it by hand";
  told(done ? "Copied" : "It could not be copied");
  setTimeout(() => { button.textContent = label; }, 2500);
  if (issued && done) mayClose();
  else if (issued) believe();
});

let copied = !issued;

function mayClose() {
  copied = true;
  issued.querySelector("[type=checkbox]").checked = true;
  issued.querySelector("form button").disabled = false;
}

// Where a browser lets nothing be copied, the box to tick says whether it was.
function believe() {
  const box = issued.querySelector("[type=checkbox]");
  box.closest("label").hidden = false;
  box.addEventListener("change", () => { issued.querySelector("form button").disabled = !box.checked; });
}

if (issued) {
  // A reload would ask to issue the key again.
  history.replaceState(null, "", issued.dataset.address);
  issued.querySelector("[type=checkbox]").closest("label").hidden = true;
  issued.querySelector("form button").disabled = true;
  issued.close();
  issued.showModal();
  issued.addEventListener("cancel", (event) => event.preventDefault());
  issued.addEventListener("keydown", (event) => { if (event.key === "Escape") event.preventDefault(); });
  issued.querySelector(".secret").addEventListener("copy", (event) => {
    const { selectionStart, selectionEnd, value } = event.target;
    if (selectionEnd - selectionStart === value.length) mayClose();
  });
  issued.querySelector("form").addEventListener("submit", () => { copied = true; });
  addEventListener("beforeunload", (event) => { if (!copied) event.preventDefault(); });
}

document.getElementById("errors")?.focus();

// On a phone, the tab of the page may be beyond the edge.
const tabs = document.querySelector(".tabs");
const tab = tabs?.querySelector("[aria-current]");
if (tab) tabs.scrollLeft = tab.offsetLeft - (tabs.clientWidth - tab.offsetWidth) / 2;

// A form is sent once, however often its button is pressed.
document.addEventListener("submit", (event) => {
  if (event.target.dataset.sent) event.preventDefault();
  else if (event.target.method === "post") {
    event.target.dataset.sent = "1";
    event.submitter?.setAttribute("aria-busy", "true");
  }
});
addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
  for (const button of document.querySelectorAll("button[aria-busy]")) button.removeAttribute("aria-busy");
});

// What one key reads: its APIs with their fields, and answers to real requests as examples. Nothing is kept.
"use strict";

const form = document.getElementById("given");
const own = document.getElementById("own");
const told = document.getElementById("told");

// Makes an element; texts are never read as HTML, but for `code` between back quotes.
const make = (name, attributes = {}, ...parts) => {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...parts);
  return made;
};
const marked = (text) => text.split("`").map((part, at) => at % 2 ? make("code", {}, part) : part);

// Returns the answer to what follows the workspace in a URL; fails with the server's message.
const asker = (workspace, key) => async (target) => {
  const answer = await fetch(`v1/${encodeURIComponent(workspace)}/${target}`, { headers: { "X-API-KEY": key } });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.message);
  return body;
};

// Returns the schema of an API's entries at the default depth.
const schemaOf = (definition, path) => {
  const schemas = definition.components.schemas;
  const named = (reference) => schemas[reference.$ref.split("/").at(-1)];
  const [first] = definition.paths[path].get.responses["200"].content["application/json"].schema.anyOf;
  const found = named(first);
  return found.properties.contents ? named(found.properties.contents.items) : found;
};

// Returns the row of a field, and those of the fields inside its groups.
const fieldRows = (field, schema = {}, before = "") => {
  const id = before + field.id;
  const [, ...about] = (schema.description ?? "").split("\n\n");
  const options = schema.enum ?? schema.items?.enum;
  if (options) about.push(`${schema.items ? "Any" : "One"} of ${options.filter((one) => one !== null).map((one) => `\`${one}\``).join(", ")}.`);
  if (field.required) about.push("Always there.");
  const row = make("tr", {},
    make("th", { scope: "row" }, make("code", {}, id)),
    make("td", {}, field.type),
    make("td", {}, field.name, ...about.flatMap((text) => [make("br"), ...marked(text)])));
  const kinds = field.groups ?? (field.fields ? [{ id: "", fields: field.fields }] : []);
  const described = (schema.items ?? schema).anyOf ?? [];
  return [row, ...kinds.flatMap((kind) => {
    const group = described.find(({ properties }) => kind.id ? properties?.fieldId?.const === kind.id : properties);
    const steps = kind.id ? `${id}.${kind.id}.` : `${id}.`;
    return kind.fields.flatMap((inner) => fieldRows(inner, group?.properties[inner.id], steps));
  })];
};

const fieldTable = (fields, schema) => make("div", { class: "scrolls", tabindex: "0", role: "group", "aria-label": "Fields" },
  make("table", {},
    make("thead", {}, make("tr", {}, ...["Field", "Type", "Meaning"].map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, ...fields.flatMap((field) => fieldRows(field, schema.properties[field.id])))));

const command = (text) => make("pre", { tabindex: "0", "aria-label": "Command" }, text);

// One API; its example is fetched when it is first opened, so that a key with many APIs is not used up.
const apiPart = (api, base, definition, ask) => {
  const path = `${base}/${api.endpoint}`;
  const target = api.endpoint + (api.kind === "list" ? "?limit=1" : "");
  const example = make("pre", { tabindex: "0", "aria-label": `Example of ${api.name}` }, "…");
  const [, ...about] = definition.paths[path].get.description.split("\n\n");
  const part = make("details", {},
    make("summary", {}, make("b", {}, api.name), " ", make("code", {}, api.endpoint), ` ${api.kind}`),
    ...about.map((text) => make("p", {}, ...marked(text))),
    fieldTable(api.fields, schemaOf(definition, path)),
    make("p", {}, `Asked for now, with depth 1: `, make("code", {}, target)),
    example);
  part.addEventListener("toggle", async () => {
    try {
      const found = await ask(target);
      const isEmpty = api.kind === "list" && !found.contents.length;
      example.textContent = isEmpty ? "No entry is live now." : JSON.stringify(found, null, 2);
    } catch (error) {
      example.textContent = error.message;
    }
  }, { once: true });
  return part;
};

const showOwn = (workspace, schema, definition, ask) => {
  const base = `/v1/${workspace}`;
  const url = new URL(`v1/${encodeURIComponent(workspace)}`, document.baseURI).href;
  const types = ["typescript > cms.ts", "python > cms_client.py"];
  own.replaceChildren(
    make("h2", {}, "Your APIs"),
    make("p", {}, "Types and a client for an application, in one file:"),
    command(types.map((one) => `curl -fsS -H "X-API-KEY: $KEY" ${url}/_types/${one}`).join("\n")),
    ...schema.apis.map((api) => apiPart(api, base, definition, ask)));
  if (!schema.apis.length) own.append(make("p", {}, "This key reads no API."));
  own.hidden = false;
};

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { workspace, key } = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));
  const ask = asker(workspace, key);
  told.textContent = "Loading …";
  try {
    const [schema, definition] = await Promise.all([ask("_schema"), ask("_openapi")]);
    showOwn(workspace, schema, definition, ask);
    const shown = show({ spec: definition, onComplete: () => shown.preauthorizeApiKey("apiKey", key) });
    told.textContent = "";
    own.scrollIntoView();
  } catch (error) {
    told.textContent = error.message;
  }
});

// Which workspaces there are is public; where there is one, nobody need name it.
fetch("readyz").then((answer) => answer.json()).then(({ workspaces }) => {
  document.getElementById("workspaces").append(...workspaces.map(({ id }) => make("option", { value: id })));
  if (workspaces.length === 1 && !form.elements.workspace.value) form.elements.workspace.value = workspaces[0].id;
}).catch(() => {});

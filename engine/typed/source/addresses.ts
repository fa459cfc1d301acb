/** What a value holds, where addresses of the server's files can be in it; `by` has the kinds of groups, by their IDs. */
type Holding = "file" | "html" | { entry: string | null } | { by: { [kind: string]: Places } };
type Places = { [field: string]: Holding };

/** Makes the addresses of the server's files in an entry of an API absolute, those in rich text too. */
function absolute(entry: unknown, places: Places | undefined, server: string): void {
  if (places === undefined || typeof entry !== "object" || entry === null) return;
  const members = entry as { [name: string]: unknown };
  for (const [field, holding] of Object.entries(places)) {
    const value = members[field];
    if (Array.isArray(value)) value.forEach((one) => absoluteIn(one, holding, server));
    else if (typeof value === "string" && holding === "html") members[field] = absoluteHtml(value, server);
    else absoluteIn(value, holding, server);
  }
}

function absoluteIn(value: unknown, holding: Holding, server: string): void {
  if (typeof value !== "object" || value === null || holding === "html") return;
  const members = value as { url?: unknown; _api?: unknown; fieldId?: unknown };
  if (holding === "file") {
    if (typeof members.url === "string" && members.url.startsWith(files)) members.url = server + members.url;
  } else if ("by" in holding) {
    absolute(value, holding.by[String(members.fieldId ?? "")], server);
  } else {
    absolute(value, places[holding.entry ?? String(members._api)], server);
  }
}

/** Returns rich text, in which every `<` begins a tag and values of attributes are in double quotes, with absolute addresses. */
function absoluteHtml(html: string, server: string): string {
  if (!html.includes(files)) return html;
  const base = server.replace(/&/g, "&amp;");
  return html.replace(/<[a-z](?:[^">]|"[^"]*")*>/gi, (tag) =>
    tag.replace(/ (src|href|poster|srcset)="([^"]*)"/g, (whole: string, name: string, value: string) => {
      const addresses = name === "srcset" ? value.split(/,\s+/) : [value];
      if (!addresses.some((one) => one.startsWith(files))) return whole;
      return ` ${name}="${addresses.map((one) => (one.startsWith(files) ? base + one : one)).join(", ")}"`;
    }),
  );
}

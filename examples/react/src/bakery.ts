import { Client } from "./content";

export const contentUrl = import.meta.env["CMS_URL"] ?? "http://127.0.0.1:8787";

/** The content, read with a key that everybody may have. */
export const bakery = new Client({ url: contentUrl, key: import.meta.env["CMS_KEY"] ?? "" });

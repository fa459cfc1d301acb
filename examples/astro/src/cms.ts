import { CMS_KEY, CMS_URL } from "astro:env/server";
import { Client } from "./content";

/** The content as it is now. */
export const cms = new Client({ url: CMS_URL, key: CMS_KEY });

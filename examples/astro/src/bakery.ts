// The content of one build: every page is made from the same snapshot version, as of the same instant, so that what is
// published while the site is being built shows on all pages of the next build, and on none of this one.
import { CMS_KEY, CMS_URL } from "astro:env/server";
import { Client } from "./content";

export const bakery = await new Client({ url: CMS_URL, key: CMS_KEY }).pin();

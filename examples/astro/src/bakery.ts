// The content of one build: every page is made from the same snapshot version, as of the same instant, so that what is
// published while the site is being built shows on all pages of the next build, and on none of this one.
import { cms } from "./cms";

export const bakery = import.meta.env.DEV ? cms : await cms.pin();

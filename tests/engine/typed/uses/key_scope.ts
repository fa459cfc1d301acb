// Clients for keys of which the scope is known: references are entries where the key reads them, and IDs where not.
import type * as all from "./all_apis.js";
import type * as some from "./some_apis.js";

type Exactly<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : never;
export const exact: [
  Exactly<all.Breads["baker"], all.Bakers<0> | null>,
  Exactly<all.Breads<2>["goes_with"], all.Breads<1>[]>,
  Exactly<all.Breads<0>["baker"], string | null>,
  Exactly<some.Breads["baker"], string | null>,
  Exactly<some.Breads["goes_with"], some.Breads<0>[]>,
  Exactly<some.Shop["todays_bread"], some.Breads<0> | null>,
  Exactly<keyof some.Lists, "breads">,
  Exactly<keyof some.Queries, "breads" | "shop">,
] = [true, true, true, true, true, true, true, true];

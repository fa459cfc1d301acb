import { bakery, orNotFound } from "$lib/server/bakery";
import { kept } from "$lib/server/kept";

export async function load({ params: { id } }) {
  return { entry: await orNotFound(kept(`journal/${id}`, () => bakery.entry("journal", id))) };
}

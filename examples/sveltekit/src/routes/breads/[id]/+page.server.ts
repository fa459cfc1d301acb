import { bakery, orNotFound } from "$lib/server/bakery";
import { kept } from "$lib/server/kept";

export async function load({ params: { id } }) {
  return { bread: await orNotFound(kept(`breads/${id}`, () => bakery.entry("breads", id))) };
}

import { error } from "@sveltejs/kit";
import { env } from "$env/dynamic/private";
import { Client, NotFound } from "../content";

export const bakery = new Client({ url: env["CMS_URL"] ?? "http://127.0.0.1:8787", key: env["CMS_KEY"] ?? "" });

/** Waits for an answer; where there is no such entry, the visitor gets the page for 404. */
export async function orNotFound<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (failure) {
    if (failure instanceof NotFound) error(404, "This page is not here");
    throw failure;
  }
}

import { Client, NotFound } from "../../utils/content";

/** The content, asked for with a key that never reaches a browser. */
export const bakery = new Client({
  url: process.env["CMS_URL"] ?? "http://127.0.0.1:8787",
  key: process.env["CMS_KEY"] ?? "",
});

/** Waits for an answer; where there is no such entry, the visitor gets the page for 404. */
export async function orNotFound<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (failure) {
    if (failure instanceof NotFound) throw createError({ statusCode: 404, statusMessage: "This page is not here" });
    throw failure;
  }
}

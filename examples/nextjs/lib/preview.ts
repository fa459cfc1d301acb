import { cookies, draftMode } from "next/headers";
import { NotFound } from "./content";

const COOKIE = "preview";

/** The draft that a preview link opened. */
export interface Preview {
  /** The page that shows it. */
  path: string;
  lang: "en" | "ja";
  key: string;
}

/** The preview under way in this browser, if there is one. */
export async function preview(): Promise<Preview | undefined> {
  if (!(await draftMode()).isEnabled) return undefined;
  try {
    return JSON.parse((await cookies()).get(COOKIE)?.value ?? "") as Preview;
  } catch {
    return undefined;
  }
}

/** Begins a preview. To be called after the key was found to open a draft. */
export async function begin(preview: Preview): Promise<void> {
  (await draftMode()).enable();
  // For editors that show the site in a frame, the cookie has to be one that goes to other sites, which https alone allows.
  const secure = process.env.NODE_ENV !== "development";
  const options = { httpOnly: true, path: "/", secure, sameSite: secure ? ("none" as const) : ("lax" as const) };
  (await cookies()).set(COOKIE, JSON.stringify(preview), options);
}

/** Ends a preview. */
export async function end(): Promise<void> {
  (await draftMode()).disable();
  (await cookies()).delete(COOKIE);
}

/**
 * What a page shows: the draft, if this page is the one that a preview link opened and the draft is still there, else what
 * is published.
 */
export async function shown<T>(path: string, draft: (preview: Preview) => Promise<T>, published: () => Promise<T>): Promise<T> {
  const under = await preview();
  if (under?.path === path) {
    try {
      return await draft(under);
    } catch (error) {
      if (!(error instanceof NotFound)) throw error; // it was published meanwhile, or its key was changed
    }
  }
  return published();
}

/** How many levels of references are expanded: with 0, references are IDs; 1 is the default. */
export type Depth = 0 | 1 | 2;
/** The depth inside an expanded reference: one less. */
export type Inside<D extends Depth> = D extends 2 ? 1 : 0;

/** The members of every entry. */
export interface Meta {
  id: string;
  /** When the entry was first written: ISO 8601 in UTC with milliseconds, like all dates. */
  createdAt: string;
  /** When the entry was last changed. */
  updatedAt: string;
  /** When the entry was first published; lists begin with the newest. */
  publishedAt: string;
  /** Present only with `include=_langs`, and never inside a reference. */
  _langs?: Languages;
}
/** The languages of an entry. */
export interface Languages {
  /** The language that the answer is in. */
  current: Language;
  /** The languages that are live, the main language first. */
  available: Language[];
}
/** A list response. */
export interface ListOf<E> {
  contents: E[];
  /** How many entries match, on all pages. */
  totalCount: number;
  offset: number;
  limit: number;
}
/** An entry with only the members that `fields` selects. */
export type Selected<E extends Meta, F extends keyof E> = Pick<E, F | "id" | "_langs">;

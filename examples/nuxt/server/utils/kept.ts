import { factsOf } from "../../utils/content";

/** How many milliseconds an answer is kept at most, and so how late a change shows where no webhook comes. */
const LONGEST = 60_000;

const answers = new Map<string, { value: object; until: number; tags: string[] }>();
let drops = 0;

/**
 * Returns the answer that is kept under a name, or else asks for it. An answer is kept until the next change on
 * schedule, and until `drop` gets one of its tags; during development none is.
 */
export async function kept<T extends object>(name: string, ask: () => Promise<T>): Promise<T> {
  const found = answers.get(name);
  if (found && Date.now() < found.until) return found.value as T;
  const [asked, before] = [Date.now(), drops];
  const value = await ask();
  const { nextChange, tags } = factsOf(value);
  // An answer that was on its way while others were dropped may be as old as they were.
  if (before === drops && process.env["NODE_ENV"] !== "development") {
    answers.set(name, { value, tags, until: Math.min(asked + LONGEST, nextChange?.getTime() ?? Infinity) });
  }
  return value;
}

/** Drops the answers that have one of these tags. */
export function drop(tags: string[]): void {
  drops += 1;
  for (const [name, answer] of answers) if (answer.tags.some((tag) => tags.includes(tag))) answers.delete(name);
}

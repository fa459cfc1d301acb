import { factsOf } from "../../utils/content";

/** How many milliseconds an answer is kept at most, and so how late a change shows where no webhook comes. */
const LONGEST = 60_000;

interface Kept {
  answer: Promise<object>;
  until: number;
  /** What the answer depends on; `undefined` while it is on its way. */
  tags?: string[];
}
const answers = new Map<string, Kept>();

/**
 * Returns the answer that is kept under a name, or else asks for it, once for all who want it meanwhile. An answer is
 * kept until the next change on schedule, and until `drop` gets one of its tags; during development none is.
 */
export function kept<T extends object>(name: string, ask: () => Promise<T>): Promise<T> {
  if (process.env["NODE_ENV"] === "development") return ask();
  const found = answers.get(name);
  if (found && Date.now() < found.until) return found.answer as Promise<T>;
  const answer = ask();
  const one: Kept = { answer, until: Date.now() + LONGEST };
  answers.set(name, one);
  answer.then(
    (value) => {
      const { nextChange, tags } = factsOf(value);
      one.tags = tags;
      one.until = Math.min(one.until, nextChange?.getTime() ?? Infinity);
    },
    () => answers.get(name) === one && answers.delete(name),
  );
  return answer;
}

/** Drops the answers that have one of these tags, and those on their way, which may be as old. */
export function drop(tags: string[]): void {
  for (const [name, one] of answers) {
    if (!one.tags || one.tags.some((tag) => tags.includes(tag))) answers.delete(name);
  }
}

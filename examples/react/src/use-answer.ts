import { useEffect, useState } from "react";
import { contentUrl } from "./bakery";

interface Asked<T> {
  answer?: T;
  error?: Error;
}

/**
 * Asks for content, again when one of `parts` changes, and returns the answer or the error once there is one. An earlier
 * answer stays until the next is there.
 */
export function useAnswer<T>(ask: (signal: AbortSignal) => Promise<T>, parts: readonly unknown[]): Asked<T> {
  const [asked, setAsked] = useState<Asked<T>>({});
  const saves = useSaves();
  useEffect(() => {
    const { signal, abort } = controller();
    ask(signal).then(
      (answer) => signal.aborted || setAsked({ answer }),
      (error: Error) => signal.aborted || setAsked({ error }),
    );
    return abort;
  }, [...parts, saves]);
  return asked;
}

function controller() {
  const made = new AbortController();
  return { signal: made.signal, abort: () => made.abort() };
}

/** Counts what `cms dev` became to serve since the page is open, so that each save shows at once. In development only. */
function useSaves(): number {
  const [saves, setSaves] = useState(0);
  useEffect(() => {
    if (!import.meta.env.DEV) return;
    const events = new EventSource(new URL("/dev/events", contentUrl));
    const count = () => setSaves((before) => before + 1);
    events.addEventListener("change", count);
    return () => events.close();
  }, []);
  return saves;
}

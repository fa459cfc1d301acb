"use client";

import { useRouter } from "next/navigation";
import { useEffect } from "react";

/** Shows each save of the content at once: `cms dev` tells what became current, and the page is rendered again. */
export function DevReload({ url }: { url: string }) {
  const router = useRouter();
  useEffect(() => {
    let shown: string | null = null;
    const events = new EventSource(new URL("/dev/events", url));
    function heard(event: MessageEvent<string>) {
      const { version } = JSON.parse(event.data) as { version: string | null };
      if (shown && version && version !== shown) router.refresh();
      shown = version ?? shown;
    }
    events.addEventListener("hello", heard); // on connecting, and again after `cms dev` was away
    events.addEventListener("change", heard);
    return () => events.close();
  }, [router, url]);
  return null;
}

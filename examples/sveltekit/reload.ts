import { setTimeout as pause } from "node:timers/promises";
import type { HotPayload, Plugin, ViteDevServer } from "vite";

/**
 * Tells the pages of the development server as soon as `cms dev`, at the address `url`, has built what was saved. They
 * are loaded again, or get a message of their own in `tell`.
 */
export function reloadOnChange(url: string, tell: HotPayload = { type: "full-reload" }): Plugin {
  const closed = new AbortController();
  return {
    name: "reload-on-change",
    apply: "serve",
    configureServer: (server) => void follow(url, server, tell, closed.signal),
    closeBundle: () => closed.abort(),
  };
}

async function follow(url: string, server: ViteDevServer, tell: HotPayload, signal: AbortSignal) {
  let shown: string | undefined;
  while (!signal.aborted) {
    try {
      for await (const version of versions(url, signal)) {
        if (shown !== undefined && shown !== version) {
          server.watcher.emit("change", "content"); // Astro keeps the paths of pages until a file changes
          server.ws.send(tell);
        }
        shown = version;
      }
    } catch {
      // `cms dev` is not running now.
    }
    await pause(500, undefined, { ref: false });
  }
}

/** Yields the version of the content when the connection begins, and each one after it. */
async function* versions(url: string, signal: AbortSignal): AsyncGenerator<string> {
  const { ok, body } = await fetch(new URL("/dev/events", url), { signal });
  if (!ok || !body) return; // a server that publishes has no events
  const parts = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let part; !(part = await parts.read()).done; ) {
    text += part.value;
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
      const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1];
      const version = data && (JSON.parse(data) as { version: string | null }).version;
      if (version) yield version; // there is none before the first build
    }
  }
}

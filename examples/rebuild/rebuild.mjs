// Builds a static site again whenever its content changes: a receiver of webhooks for Astro, Nuxt or any other generator.
//
//   WEBHOOK_SECRET=whsec_… node rebuild.mjs npm run build
//
// One build runs at a time. Events that come meanwhile are answered at once, and lead to one more build after it.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

const [command, ...args] = process.argv.slice(2);
const webhook = new Webhook(process.env.WEBHOOK_SECRET ?? "");
const LONGEST = 20_000;
let building = false;
let again = false;

function build() {
  if (building) {
    again = true;
    return;
  }
  building = true;
  const child = spawn(command, args, { stdio: "inherit" });
  const ended = (how) => {
    console.log(`built: ${how}`);
    building = false;
    if (again) {
      again = false;
      build();
    }
  };
  child.once("error", (error) => ended(error.message));
  child.once("exit", (status, signal) => ended(signal ?? `status ${status}`));
}

async function bodyOf(request) {
  let body = "";
  for await (const part of request.setEncoding("utf8")) {
    body += part;
    if (body.length > LONGEST) throw new Error("too long");
  }
  return body;
}

const server = createServer(async (request, response) => {
  try {
    const event = webhook.verify(await bodyOf(request), request.headers);
    console.log(`heard: ${event.type}`);
    if (event.type === "content.changed" || event.type === "schema.changed") build();
    response.writeHead(204).end();
  } catch {
    response.writeHead(401).end(); // not signed with the secret, or not an event
  }
});
server.listen(Number(process.env.PORT ?? 9000), process.env.HOST ?? "127.0.0.1", () => {
  const { address, port } = server.address();
  console.log(`listening on http://${address}:${port}`);
});

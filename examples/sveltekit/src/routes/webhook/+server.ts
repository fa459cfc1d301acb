import { env } from "$env/dynamic/private";
import { Webhook, WebhookVerificationError } from "standardwebhooks";
import { drop } from "$lib/server/kept";

interface Event {
  data: { tags?: string[] };
}

/** Drops the answers that are no longer right: `cms webhook add https://www.example.com/webhook` sends events here. */
export async function POST({ request }) {
  const body = await request.text(); // as it was sent: parsed and printed again it has another signature
  try {
    const webhook = new Webhook(env["WEBHOOK_SECRET"] ?? "");
    const { data } = webhook.verify(body, Object.fromEntries(request.headers)) as Event;
    drop(data.tags ?? []);
  } catch (failure) {
    if (failure instanceof WebhookVerificationError) return new Response(null, { status: 401 });
    throw failure;
  }
  return new Response(null, { status: 204 });
}

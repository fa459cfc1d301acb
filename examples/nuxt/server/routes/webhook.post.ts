import { Webhook, WebhookVerificationError } from "standardwebhooks";

interface Event {
  data: { tags?: string[] };
}

/** Drops the answers that are no longer right: `cms webhook add https://www.example.com/webhook` sends events here. */
export default defineEventHandler(async (event) => {
  const body = (await readRawBody(event)) ?? ""; // as it was sent: parsed and printed again it has another signature
  try {
    const webhook = new Webhook(process.env["WEBHOOK_SECRET"] ?? "");
    const { data } = webhook.verify(body, getHeaders(event) as Record<string, string>) as Event;
    drop(data.tags ?? []);
  } catch (failure) {
    if (failure instanceof WebhookVerificationError) return sendNoContent(event, 401);
    throw failure;
  }
  return sendNoContent(event, 204);
});

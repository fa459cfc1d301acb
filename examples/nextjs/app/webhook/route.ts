import { revalidateTag } from "next/cache";
import { Webhook, WebhookVerificationError } from "standardwebhooks";

interface Event {
  type: string;
  data: { tags?: string[] };
}

/** Drops what was made of answers that are no longer right: `cms webhook add https://www.example.com/webhook` sends events here. */
export async function POST(request: Request) {
  const body = await request.text(); // as it was sent: parsed and printed again it has another signature
  let event: Event;
  try {
    const webhook = new Webhook(process.env["WEBHOOK_SECRET"] ?? "");
    event = webhook.verify(body, Object.fromEntries(request.headers)) as Event;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return new Response(null, { status: 401 });
    throw error;
  }
  for (const tag of event.data.tags ?? []) revalidateTag(tag, { expire: 0 });
  return new Response(null, { status: 204 });
}

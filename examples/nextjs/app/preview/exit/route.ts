import { redirect } from "next/navigation";
import { end, preview } from "../../../lib/preview";

/** Ends a preview, and goes on with the page as it is published. */
export async function GET() {
  const under = await preview();
  await end();
  redirect(under?.path ?? "/");
}

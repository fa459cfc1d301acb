import Link from "next/link";
import { preview } from "../lib/preview";

/** Says that a preview is under way, and lets out of it. */
export async function PreviewBar() {
  const under = await preview();
  if (!under) return null;
  return (
    <aside className="preview">
      <span>
        Preview: <Link href={under.path}>one page</Link> shows changes that are not published, all others what is.
      </span>
      {/* No <Link>, which would ask for it before it is clicked. */}
      <a href="/preview/exit">Leave the preview</a>
    </aside>
  );
}

import Link from "next/link";

export default function NotFound() {
  return (
    <article>
      <h1>This page is not here</h1>
      <p className="lead">
        Perhaps it is not yet published, or no longer. <Link href="/">All breads and the journal</Link> are.
      </p>
    </article>
  );
}

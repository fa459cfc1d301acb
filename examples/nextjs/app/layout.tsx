import type { Metadata } from "next";
import Link from "next/link";
import type { ReactNode } from "react";
import { contentUrl } from "../lib/bakery";
import { DevReload } from "./dev-reload";
import "./house.css";
import icon from "./icon.svg";
import { PreviewBar } from "./preview-bar";

export const metadata: Metadata = {
  title: { default: "Komugi, bread from a wood-fired oven", template: "%s – Komugi" },
  description: "A small bakery with a wood-fired oven.",
};

export default function Layout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body>
        <PreviewBar />
        <header className="top">
          <Link className="brand" href="/">
            <img src={icon.src} alt="" width={36} height={36} />
            Komugi
          </Link>
          <nav>
            <Link href="/#breads">Breads</Link>
            <Link href="/#journal">Journal</Link>
          </nav>
        </header>
        <main>{children}</main>
        <footer className="bottom">3 Oven Lane, Komugi</footer>
        {process.env.NODE_ENV === "development" ? <DevReload url={contentUrl} /> : null}
      </body>
    </html>
  );
}

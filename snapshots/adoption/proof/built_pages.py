"""The pages that a generator made, as files in a folder or as a sitemap lists them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import msgspec
from selectolax.lexbor import LexborHTMLParser

from snapshots.adoption.proof.addresses import segments_of
from snapshots.adoption.proof.texts import Text
from snapshots.problems import ParquetryError

_ENDINGS: Final = (".html", ".htm", ".xhtml")
_NOT_TEXT: Final = (
    "script",
    "style",
    "noscript",
    "template",
    "svg",
    "button",
    "iframe",
    "dialog",
    "select",
    "textarea",
)
_FURNITURE: Final = ", ".join(
    (
        "a.anchor, a.headerlink, a.header-anchor, a.hash-link, a.anchor-link, a.heading-anchor, .anchorjs-link",
        "[aria-hidden=true], .sr-only, .visually-hidden, .screen-reader-text",
        "td.gutter, .lineno, .linenos, .line-numbers, .line-numbers-wrapper, .ln, .lnt",
        "div[class*=language-] > span.lang",
        ".ec-line .gutter, figcaption.header, figure.highlight > figcaption, .sl-anchor-link, .copy-button",
    )
)
"""What generators and highlighters add to a text: links of headings, numbers of lines, names of languages."""
_REDIRECT: Final = re.compile(r"^\s*\d*\s*;?\s*url\s*=", re.IGNORECASE)
_LOCATION: Final = re.compile(r"<loc>\s*([^<\s]+)\s*</loc>")
_JSON_DATE: Final = re.compile(r"\"(?:datePublished|dateModified|dateCreated)\"\s*:\s*\"(\d{4}-\d\d-\d\d)")
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
_STATED: Final = (
    "meta[property='article:published_time'], meta[property='article:modified_time'], meta[itemprop=datePublished], "
    "meta[itemprop=dateModified], meta[name=date]"
)


class NoPages(ParquetryError):
    """Where the generator's pages should be, there are none."""


class Page(msgspec.Struct, dict=True):
    """A page of the site."""

    file: Path
    address: str
    """Such as ``/posts/hello/``."""
    segments: tuple[str, ...]
    """Of the address, as addresses are compared."""
    content: Text
    titles: tuple[str, ...]
    """The texts that name it: its title and first heading."""
    lang: str
    """As its HTML says; an empty text where that says none."""
    days: frozenset[str]
    """The days that its HTML states for programs, such as ``2020-01-31``."""

    @cached_property
    def named(self) -> tuple[str, ...]:
        """Return the words of each of the texts that name the page, without spaces."""
        return tuple(Text(one).joined.casefold() for one in self.titles)


class Built(msgspec.Struct):
    """The pages of a site."""

    pages: list[Page]
    redirects: list[str]
    """The addresses of pages that only lead elsewhere."""
    unsaved: list[str]
    """The addresses in a sitemap of which no page is saved."""


def read_built(public: Path) -> Built:
    """Return the pages in a generator's output: a folder, or a sitemap with the pages saved in the folder around it.

    Raises ``NoPages``.
    """
    if public.is_dir():
        files = ((path, path.relative_to(public).as_posix()) for path in _pages_in(public))
        built = _read(files)
        if not built.pages:
            message = (
                f"{public} holds no HTML pages: name the folder that the generator writes, such as public/ or _site/."
            )
            raise NoPages(message)
        return built
    if not public.is_file():
        raise NoPages(f"{public} is not there: run the site's generator first, and name the folder that it writes.")
    return _of_sitemap(public)


def _pages_in(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in _ENDINGS and path.is_file() and "node_modules" not in path.parts:
            yield path


def _of_sitemap(sitemap: Path) -> Built:
    listed = list(dict.fromkeys(_LOCATION.findall(sitemap.read_text(encoding="utf-8", errors="replace"))))
    if not listed:
        raise NoPages(f"{sitemap} lists no pages: a sitemap has each address in <loc>.")
    files, unsaved = [], []
    for url in listed:
        saved = None
        with suppress(ValueError, OSError):  # no URL, or a name that no file can have
            saved = _saved(sitemap.parent, url)
        if saved is None:
            unsaved.append(url)
        else:
            files.append((saved, unquote(urlsplit(url).path).strip("/")))
    if not files:
        raise NoPages(
            f"None of the {len(listed):,} pages in {sitemap} is saved beside it, such as by "
            "`wget --input-file - --force-directories --adjust-extension`."
        )
    built = _read(iter(files))
    built.unsaved = unsaved
    return built


def _saved(folder: Path, url: str) -> Path | None:
    """Return the file in which a page is saved: below the folder, or below one of the name of the host in it."""
    parts = urlsplit(url)
    path = unquote(parts.path).strip("/")
    if ".." in path.split("/"):
        return None
    for base in (folder, *([] if parts.netloc in ("", ".", "..") or "/" in parts.netloc else [folder / parts.netloc])):
        for name in (f"{path}/index.html", f"{path}.html", path or "index.html"):
            if (base / name.lstrip("/")).is_file():
                return base / name.lstrip("/")
    return None


def _read(files: Iterator[tuple[Path, str]]) -> Built:
    built = Built([], [], [])
    for path, address in files:
        parser = LexborHTMLParser(path.read_bytes())
        shown = _address(address)
        if _is_redirect(parser):
            built.redirects.append(shown)
        else:
            built.pages.append(_page(path, shown, parser))
    return built


def _address(path: str) -> str:
    first, _, name = path.rpartition("/")
    if name.rpartition(".")[0] == "index":
        return f"/{first}/" if first else "/"
    return f"/{path}"


def _is_redirect(parser: LexborHTMLParser) -> bool:
    refresh = parser.css_first("meta[http-equiv=refresh i]")
    return refresh is not None and _REDIRECT.search(refresh.attributes.get("content") or "") is not None


def _page(file: Path, address: str, parser: LexborHTMLParser) -> Page:
    html = parser.css_first("html")
    lang = (html.attributes.get("lang") or "") if html is not None else ""
    titles = [node.text(separator=" ") for node in parser.css("head > title, h1")[:4]]
    titles += [node.attributes.get("content") or "" for node in parser.css("meta[property='og:title']")[:1]]
    return Page(file, address, segments_of(address), Text(text_of(parser)), tuple(titles), lang, _days(parser))


def _days(parser: LexborHTMLParser) -> frozenset[str]:
    stated = [node.attributes.get("content") or "" for node in parser.css(_STATED)]
    stated += [node.attributes.get("datetime") or "" for node in parser.css("time[datetime]")[:8]]
    found = {match[0] for one in stated if (match := _DAY.match(one))}
    for node in parser.css("script[type='application/ld+json']"):
        found.update(_JSON_DATE.findall(node.text() or ""))
    return frozenset(found)


def text_of(parser: LexborHTMLParser) -> str:
    """Return the text of a page, without what is there for programs and what generators add. Changes the document."""
    parser.strip_tags(list(_NOT_TEXT))
    for node in parser.css(_FURNITURE):
        node.decompose()
    for node in parser.css("a[href^='#']"):
        if not any(map(str.isalnum, node.text())):  # a mark that leads to a heading or back from a footnote
            node.decompose()
    return parser.body.text(separator=" ") if parser.body is not None else ""

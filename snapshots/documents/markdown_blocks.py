"""Find what Markdown of site generators has besides tags: containers, callouts, and links in double brackets.

Containers are blocks between ``:::note Title`` and ``:::`` (VitePress, Docusaurus, Starlight); admonitions have their
text indented below ``!!! note "Title"`` or ``???`` (MkDocs); callouts are quotes that begin with ``[!info]``
(Obsidian); links stand in ``[[Page|Text]]``, and files to show in ``![[Picture.png]]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

CONTAINER: Final = ":::"
WIKI_LINK: Final = "[["
EMBED: Final = "![["

_FENCE = re.compile(r"^[ \t]*:{3,}[ \t]*(?P<open>\{?[A-Za-z][\w-]*[^\n]*)?$", re.MULTILINE)
_OPENING = re.compile(r"\{?\.?([A-Za-z][\w-]*)\}?[ \t]*(?:\[([^\]\n]*)\])?(?:\{[^}\n]*\})?[ \t]*([^\n]*)")
_WIKI = re.compile(r"(?<!\[)(?P<bang>!?)\[\[(?P<page>[^\[\]|\n]+)(?:\|(?P<text>[^\[\]\n]+))?\]\](?![(\[:])")
_PICTURE = re.compile(r"\.(?:avif|gif|jpe?g|png|svg|webp)$", re.IGNORECASE)
_SIZE = re.compile(r"\s*(?P<width>[0-9]{1,5})(?:x(?P<height>[0-9]{1,5}))?\s*")
_CALLOUT = re.compile(r"^(?P<quote>[ \t]*>[ \t]*)\[!(?P<kind>[A-Za-z-]+)\][+-]?(?P<title>[ \t]+[^\n]*)?$", re.MULTILINE)
_ADMONITION = re.compile(
    r"^(?P<indent>[ ]*)(?:!!!|\?\?\?\+?)[ ]+(?P<kind>[A-Za-z][\w-]*)(?:[ ]+[\w-]+)*"
    r"(?:[ ]+\"(?P<title>[^\"\n]*)\")?[ ]*\n"
    r"(?P<body>(?:(?:[ \t]*\n)*(?P=indent)(?:[ ]{4}|\t)[^\n]*(?:\n|\Z))+)",
    re.MULTILINE,
)
_ALERTS: Final = {
    **dict.fromkeys(("note", "abstract", "summary", "tldr", "info", "todo", "example", "quote", "cite"), "NOTE"),
    **dict.fromkeys(("tip", "hint", "success", "check", "done"), "TIP"),
    **dict.fromkeys(("important", "question", "help", "faq"), "IMPORTANT"),
    **dict.fromkeys(("warning", "attention"), "WARNING"),
    **dict.fromkeys(("caution", "danger", "error", "bug", "failure", "fail", "missing"), "CAUTION"),
}
"""The alerts that callouts and containers become, by their kinds."""
_GITHUB: Final = frozenset(kind.lower() for kind in _ALERTS.values())


class Found(NamedTuple):
    """A piece of such markup."""

    start: int
    end: int
    name: str
    """By which settings name it; empty for one that is replaced without them."""
    written: str
    """As a warning shows it."""
    arguments: str = ""
    closes: bool = False
    stands_alone: bool = False
    instead: str = ""
    """What replaces it without settings."""


def found_in(text: str) -> Iterator[Found]:
    """Return the pieces of a text, those of each sort in order."""
    if CONTAINER in text:
        yield from _containers(text)
    if WIKI_LINK in text:
        yield from _wiki_links(text)
    if "[!" in text:
        yield from _callouts(text)
    if "!!!" in text or "???" in text:
        yield from _admonitions(text)


def _containers(text: str) -> Iterator[Found]:
    """Return the beginnings and ends of containers; one that nothing ends goes on to the end of the text around it."""
    opened = 0
    for fence in _FENCE.finditer(text):
        if fence["open"] is None:
            if opened:
                opened -= 1
                yield Found(*fence.span(), CONTAINER, CONTAINER, closes=True)
            continue
        named = _OPENING.fullmatch(fence["open"])
        if named is None:
            continue
        kind, title = named[1], (named[2] or named[3] or "").strip()
        opened += 1
        shown = _quoted(title or kind.replace("-", " ").capitalize())
        alert = _ALERTS.get(kind.lower(), "NOTE").lower()
        yield Found(
            *fence.span(),
            CONTAINER,
            f"{CONTAINER}{kind}",
            f"{kind} kind={_quoted(kind)} title={shown} alert={_quoted(alert)}",
        )


def _wiki_links(text: str) -> Iterator[Found]:
    for found in _WIKI.finditer(text):
        page, said = found["page"].strip(), (found["text"] or "").strip()
        name = EMBED if found["bang"] else WIKI_LINK
        if found["bang"] and _PICTURE.search(page):
            words = [word for word in said.split("|") if not _SIZE.fullmatch(word)]
            size = next(filter(None, map(_SIZE.fullmatch, said.split("|"))), None)
            arguments = f"picture page={_quoted(page)} text={_quoted(' '.join(words))}{_sized(size)}"
        else:
            shown = said or page.rpartition("/")[2].replace("#", " > ")
            arguments = f"{_quoted(page)} page={_quoted(page)} text={_quoted(shown)}"
        yield Found(*found.span(), name, f"{name}…]]", arguments, stands_alone=True)


def _sized(size: re.Match[str] | None) -> str:
    """Return the parameter with the size of a picture, as attributes after a picture in Markdown."""
    if size is None:
        return ""
    height = f" height={size['height']}" if size["height"] else ""
    return f' size="{{: width={size["width"]}{height}}}"'


def _callouts(text: str) -> Iterator[Found]:
    for found in _CALLOUT.finditer(text):
        kind = found["kind"].lower()
        alert = _ALERTS.get(kind)
        if alert is None or (kind in _GITHUB and not text.startswith(("+", "-"), found.end("kind") + 1)):
            continue
        title = (found["title"] or f" {kind.capitalize()}").rstrip()
        start = found.end("quote")
        yield Found(start, found.end(), "", "", stands_alone=True, instead=f"[!{alert}]{title}")


def _admonitions(text: str) -> Iterator[Found]:
    for found in _ADMONITION.finditer(text):
        kind, indent = found["kind"].lower(), found["indent"]
        title = kind.capitalize() if found["title"] is None else found["title"]
        lines = [line.removeprefix(indent) for line in found["body"].splitlines()]
        inside = [line[1:] if line.startswith("\t") else line[4:] for line in lines]
        quoted = [f"[!{_ALERTS.get(kind, 'NOTE')}] {title}".rstrip(), *inside]
        instead = "".join(f"{indent}> {line}".rstrip() + "\n" for line in quoted)
        yield Found(found.start(), found.end(), "", "", stands_alone=True, instead=instead)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'

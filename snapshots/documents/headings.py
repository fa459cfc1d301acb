"""Find the heading by which a Markdown text names itself: its first of the highest level."""

from __future__ import annotations

import re
from html import unescape

import comrak

_FENCE = re.compile(r"[ ]{0,3}(?P<mark>`{3,}|~{3,})(?P<info>[^\n]*)")
_HEADING = re.compile(r"[ ]{0,3}#[ \t]+(?P<text>[^\n]*?)[ \t]*#*[ \t]*")
_UNDERLINE = re.compile(r"[ ]{0,3}=+[ \t]*")
_OWN_ID = re.compile(r"[ \t]*\{:?[ \t]*#[^{}]*\}[ \t]*$")
_TAG = re.compile(r"<[^<>]*>")
_COMPONENT = re.compile(r"<(?P<name>[A-Z][\w.]*)\b[^<>]*(?:/>|>.*?</(?P=name)>)")


def first_heading(text: str) -> str | None:
    """Return the words of a Markdown text's first heading of level 1; ``None`` without one, or where it is empty.

    Headings in code are none; marks, tags, components and the heading's own ID (``{#id}``) are left off.
    """
    fence, before = "", ""
    for line in text.splitlines():
        opening = _FENCE.fullmatch(line)
        if fence:
            if opening is not None and opening["mark"].startswith(fence) and not opening["info"].strip():
                fence = ""
            continue
        if opening is not None and ("`" not in opening["info"] or opening["mark"][0] == "~"):
            fence, before = opening["mark"], ""
            continue
        heading = _HEADING.fullmatch(line)
        found = heading["text"] if heading is not None else before if _UNDERLINE.fullmatch(line) else ""
        if found.strip() and (plain := _words(found)):
            return plain
        before = line
    return None


def _words(markdown: str) -> str:
    written = _COMPONENT.sub("", _OWN_ID.sub("", markdown))
    return " ".join(unescape(_TAG.sub("", comrak.render_markdown(written))).split())

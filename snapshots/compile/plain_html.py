"""Read the visible text of HTML so plain that sanitising could not change it, in one pass without a parser.

Sanitising takes most of the time of compiling a rich text. Editors mostly write paragraphs, headings, lists and
links in perfect order; those are recognised here in a tenth of the time.
"""

from __future__ import annotations

import re
from functools import lru_cache

ID_PREFIX = "user-content-"
"""Begins every ``id`` of a sanitised text; GitHub's is the same."""

MARK = "\x01"
"""Stands before the name of a tag once a text is cut at its brackets; HTML that holds one is not plain."""
WITH_ATTRIBUTE = re.compile(
    rf"""{MARK}(?:(a) href="https?://[A-Za-z0-9._~:/?#=%+,-]+"|(h[1-6]) id="{ID_PREFIX}[\w-]+")"""
)
OTHER_ENTITY = re.compile("&(?!amp;|lt;|gt;|nbsp;)")
REWRITTEN = re.compile("[\xa0\ufeff\ud800-\udfff]")
"""Characters beyond ASCII that the parser refuses or the serialiser writes as entities."""
_SPACES = re.compile("  +")
_OTHER_ASCII_SPACES = "\t\n\r\x0b\x0c\x1c\x1d\x1e\x1f"

_FLOW = frozenset({"blockquote", "li"})
"""Elements that hold blocks and text alike."""
_LISTS = frozenset({"ul", "ol"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_PHRASING = _HEADINGS | {"p"}
"""Blocks that hold text and inline elements only."""
_INLINE = frozenset(
    {"a", "strong", "em", "b", "i", "u", "s", "code", "sub", "sup", "small", "mark", "kbd", "q", "cite"}
)
TAGS = {
    MARK + slash + name: (bool(slash), name, name in _INLINE)
    for name in _FLOW | _LISTS | _PHRASING | _INLINE | {"br"}
    for slash in ("", "/")
    if (slash, name) not in {("", "a"), ("/", "br")}
}
"""Tags without attributes: whether one closes, its name, and whether that is an inline element's."""
_MAX_OPEN = 32
_CACHED_LENGTH = 20_000
"""The tags of a text with more characters are not cached."""


def plain_text(html: str) -> str | None:
    """Return the visible text of HTML that sanitising could not change (decision 37); ``None``: sanitise it."""
    if "\r" in html or "\0" in html or MARK in html or (not html.isascii() and REWRITTEN.search(html)):
        return None
    if "&" in html and OTHER_ENTITY.search(html):
        return None
    # Text, tag, text, tag, … where < and > take turns; elsewhere a tag has no mark before it.
    parts = html.replace("<", ">" + MARK).split(">")
    tags = tuple(parts[1::2])
    if len(parts) != 2 * len(tags) + 1:
        return None
    usual = len(html) <= _CACHED_LENGTH and "=" not in html  # tags with addresses hardly recur
    between = between_texts(tags) if usual else between_texts.__wrapped__(tags)
    if between is None:
        return None
    if between:
        parts[1::2] = between
        text = "".join(parts)
    else:
        text = " ".join(filter(None, parts[0::2]))
    if MARK in text:  # of a < without its >, since no tag holds another mark
        return None
    if "&" in text:
        text = decoded(text)
    return one_line(text)


def decoded(text: str) -> str:
    """Return text with the entities of canonical HTML replaced by their characters."""
    return text.replace("&nbsp;", " ").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def one_line(text: str) -> str:
    """Return text with one space for each run of white space, and none around it."""
    if not text.isascii():
        return " ".join(text.split())
    # For ASCII this is faster than splitting into words.
    for space in _OTHER_ASCII_SPACES:
        if space in text:
            text = text.replace(space, " ")
    if "  " in text:
        text = _SPACES.sub(" ", text)
    return text.strip(" ")


@lru_cache(1024)  # texts of one kind mostly have the same tags
def between_texts(tags: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the separator of the texts around each tag; ``()`` if all are spaces, ``None`` if not plain."""
    between: list[str] = []
    opened: list[str] = []
    for tag in tags:
        known = TAGS.get(tag)
        if known is not None:
            closing, name, inline = known
        else:
            match = WITH_ATTRIBUTE.fullmatch(tag)
            if match is None:
                return None
            closing, name = False, match[match.lastindex or 1]
            inline = name == "a"
        between.append("" if inline else " ")
        if closing:
            if not opened or opened.pop() != name:
                return None
            continue
        parent = opened[-1] if opened else ""
        if inline:
            # Lists take no inline element; the parser treats inline elements nested in their own kind specially.
            if parent in _LISTS or name in opened:
                return None
        elif name == "br":
            if parent in _LISTS:
                return None
            continue
        elif name == "li":
            if parent not in _LISTS:
                return None
        elif parent and parent not in _FLOW:
            return None
        opened.append(name)
        if len(opened) > _MAX_OPEN:
            return None
    if opened:
        return None
    return tuple(between) if "" in between else ()

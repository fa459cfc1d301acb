"""The markup of HTML, by the words in which people are told of it, and what of it sanitising removed."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from html import escape, unescape
from urllib.parse import unquote

import nh3

from snapshots.compile.plain_html import ID_PREFIX
from snapshots.paths import Steps

ANY_TAG = re.compile(r"""<(/?)([a-zA-Z][^\s/>]*)((?:[^>"']|"[^"]*"|'[^']*')*)""")
ADDRESSES = frozenset({"href", "src", "poster"})
"""The attributes whose addresses browsers follow."""
_NAME_AND_VALUE = re.compile(r"""([^\s/=>"']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?""")
_NO_MARKUP = re.compile(
    r"<!--.*?(?:-->|\Z)|(<(script|style|textarea|title|iframe|xmp)\b[^<>]*>).*?(?=</\2\b|\Z)", re.DOTALL | re.IGNORECASE
)
_COMRAKS_OWN = "data-footnote"
"""The beginning of attributes that comrak adds itself."""


@dataclass(frozen=True, slots=True)
class Removed:
    """Markup of a text that is not delivered."""

    what: str
    """The markup as people know it: ``<form>``, ``onclick of <p>``, ``class "hero"``."""
    count: int
    line: int
    """The line of the text with the first of them, from 0."""
    way: Steps = ()
    """The way from the field to the text, where that is in a group."""


def removed(before: str, after: str, written: str, way: Steps) -> list[Removed]:
    """Return whatever HTML had ``before`` sanitising and has no more, with its lines in the text as ``written``."""
    missing = _markup(before) - _markup(after)
    # The attributes of an element that is gone are gone with it.
    return [
        Removed(what, count, _line_of(what, before, written), way)
        for what, count in missing.items()
        if what.partition(" of ")[2] not in missing
    ]


def _markup(html: str) -> Counter[str]:
    """Return the elements, attributes and classes of HTML, by the words in which people are told of them."""
    if "<!--" in html or "</" in html:
        html = _NO_MARKUP.sub(r"\1", html)
    found: Counter[str] = Counter()
    for slash, tag, attributes in ANY_TAG.findall(html):
        if slash:
            continue
        name = f"<{tag.lower()}>"
        found[name] += 1
        for attribute, *values in _NAME_AND_VALUE.findall(attributes) if attributes.strip(" /") else ():
            folded, value = attribute.lower(), "".join(values)
            if folded == "class":
                found.update(f'class "{one}"' for one in value.split())
            elif not folded.startswith(_COMRAKS_OWN) and not (folded == "id" and value in ("", ID_PREFIX)):
                found[f"{folded} of {name}"] += 1
    return found


def _line_of(what: str, html: str, written: str) -> int:
    """Return the line, from 0, on which markup as ``_markup`` names it first stands in a text; 0 where it does not.

    ``html`` is the text as HTML, which tells an address that was removed from others.
    """
    marks = []
    if what.startswith("<"):
        marks.append(re.escape(what[:-1]) + r"[\s/>]")
    elif what.startswith('class "'):
        name = rf"{re.escape(what[7:-1])}(?![\w-])"
        marks += [rf"""(?:\sclass\s*=\s*["'][^"'<>]*(?<![\w-])|\.){name}""", rf"(?<![\w-]){name}"]
    else:
        attribute, _, tag = what.partition(" of ")
        address = _removed_address(attribute, tag, html) if attribute in ADDRESSES else None
        marks += [] if address is None else [rf"{re.escape(address)}|{re.escape(unquote(address))}"]
        name = rf"(?<![\w-]){re.escape(attribute)}\s*="
        marks += [rf"{re.escape(tag[:-1])}\s[^<>]*?{name}", name]
    found = next((found for mark in marks if (found := re.search(mark, written, re.IGNORECASE)) is not None), None)
    return 0 if found is None else written.count("\n", 0, found.start())


def _removed_address(attribute: str, tag: str, html: str) -> str | None:
    """Return the first address in HTML, in an attribute of elements such as ``<a>``, that no link may lead to."""
    for slash, name, attributes in ANY_TAG.findall(html):
        if slash or f"<{name.lower()}>" != tag:
            continue
        for found, *values in _NAME_AND_VALUE.findall(attributes):
            address = unescape("".join(values))
            if found.lower() == attribute and not is_allowed_url(address):
                return address
    return None


def is_allowed_url(url: str) -> bool:
    """Return whether a link may lead to a URL; the cleaner itself judges only attributes that browsers follow."""
    return "href" in _CLEANER_OF_LINKS.clean(f'<a href="{escape(url)}">')


_CLEANER_OF_LINKS = nh3.Cleaner(tags={"a"}, attributes={"a": {"href"}}, link_rel=None)

"""Render Contentful's rich text, a tree of nodes, as HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from snapshots.importers.reading.shapes import mappings, text

Tell = Callable[[str, str], None]
"""Reports a loss, given what is lost and why."""
Asset = Callable[[str], tuple[str, str, bool] | None]
"""Returns the address of an asset, its text, and whether it is an image, given its ID."""

MAX_DEPTH = 200
_BLOCKS = {
    "paragraph": "p",
    **{f"heading-{level}": f"h{level}" for level in range(1, 7)},
    "unordered-list": "ul",
    "ordered-list": "ol",
    "list-item": "li",
    "blockquote": "blockquote",
    "table": "table",
    "table-row": "tr",
    "table-header-cell": "th",
    "table-cell": "td",
}
_MARKS = {
    "bold": "strong",
    "italic": "em",
    "underline": "u",
    "code": "code",
    "superscript": "sup",
    "subscript": "sub",
    "strikethrough": "s",
}


_SPANS = ("colspan", "rowspan")


def rich_text_html(node: Any, asset: Asset, tell: Tell, depth: int = 0) -> str:
    """Return a node and all inside it as HTML. ``asset`` finds pictures and files; ``tell`` is told of every loss."""
    if not isinstance(node, Mapping):
        return ""
    if depth > MAX_DEPTH:
        tell("a part of a rich text", f"its nodes are nested more than {MAX_DEPTH} deep")
        return ""
    kind = text(node.get("nodeType"))
    if kind == "text":
        return _text(node, tell)
    content = node.get("content")
    inside = "".join(
        rich_text_html(one, asset, tell, depth + 1) for one in (content if isinstance(content, list) else [])
    )
    data = node.get("data")
    data = data if isinstance(data, Mapping) else {}
    match kind:
        case "document":
            return inside
        case "hr":
            return "<hr>"
        case "hyperlink":
            return f'<a href="{escape(str(data.get("uri") or ""))}">{inside}</a>'
        case "embedded-asset-block" | "asset-hyperlink":
            return _asset(target(data), inside, asset, tell)
        case "entry-hyperlink" | "resource-hyperlink":
            tell("a link to an entry", "the export does not contain the address of its page: its text stays")
            return inside
        case _ if kind.startswith("embedded-"):
            tell("an entry inside a rich text", "HTML holds no entries: the field of its entries lists it")
            return ""
        case "table-cell" | "table-header-cell":
            spans = "".join(f' {name}="{span}"' for name in _SPANS if isinstance(span := data.get(name), int))
            return f"<{_BLOCKS[kind]}{spans}>{inside}</{_BLOCKS[kind]}>"
        case _ if kind in _BLOCKS:
            return f"<{_BLOCKS[kind]}>{inside}</{_BLOCKS[kind]}>"
    tell(f"a node {kind[:60]!r} of a rich text", "it is not known: the text in it stays")
    return inside


def target(data: Mapping[str, Any]) -> str:
    """Return the ID that the data of a node lead to; empty where they lead nowhere."""
    found: Any = data
    for key in ("target", "sys", "id"):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, str) else ""


def _text(node: Mapping[str, Any], tell: Tell) -> str:
    made = escape(str(node.get("value") or ""), quote=False).replace("\n", "<br>")
    for mark in mappings(node.get("marks")):
        kind = text(mark.get("type"))
        if kind in _MARKS:
            made = f"<{_MARKS[kind]}>{made}</{_MARKS[kind]}>"
        else:
            tell(f"a mark {kind[:60]!r} of a rich text", "it is not known: the text stays")
    return made


def _asset(wanted: str, inside: str, asset: Asset, tell: Tell) -> str:
    found = asset(wanted)
    if found is None:
        tell("a picture or file of a rich text", "the export does not contain its asset")
        return inside
    url, title, is_image = found
    if is_image and not inside:
        return f'<figure><img src="{escape(url)}" alt="{escape(title)}"></figure>'
    link = f'<a href="{escape(url)}">{inside or escape(title or url)}</a>'
    return link if inside else f"<p>{link}</p>"

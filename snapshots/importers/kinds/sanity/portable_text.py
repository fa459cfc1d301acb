"""Render Sanity's Portable Text, an array of blocks, as HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import Any

from snapshots.importers.kinds.embeds import embed
from snapshots.importers.reading.shapes import at, listed, mapping, mappings, text

Tell = Callable[[str, str], None]
"""Reports a loss, given what is lost and why."""
File = Callable[[Mapping[str, Any]], dict[str, Any] | None]
"""Returns the address and the alternative text of an image or a file in the text."""

_STYLES = {"normal": "p", "blockquote": "blockquote", **{f"h{level}": f"h{level}" for level in range(1, 7)}}
_LISTS = {"bullet": "ul", "number": "ol", "checkbox": "ul"}
_MARKS = {
    "strong": "strong",
    "em": "em",
    "underline": "u",
    "strike-through": "s",
    "code": "code",
    "sup": "sup",
    "sub": "sub",
}
_MAX_LEVEL = 20


def portable_text_html(blocks: Any, file: File, tell: Tell) -> str:
    """Return Portable Text as HTML. ``file`` finds pictures and files; ``tell`` is told of every loss."""
    made = ""
    open_lists: list[str] = []
    for block in mappings(blocks):
        kind = _LISTS.get(text(block.get("listItem"))) if block.get("_type") == "block" else None
        if kind is None:
            made += "".join(f"</li></{one}>" for one in reversed(open_lists))
            open_lists.clear()
            made += _block(block, file, tell)
            continue
        level = block.get("level")
        level = min(max(level, 1), _MAX_LEVEL) if isinstance(level, int) else 1
        while len(open_lists) > level or (len(open_lists) == level and open_lists[-1] != kind):
            made += f"</li></{open_lists.pop()}>"
        if len(open_lists) == level:
            made += "</li>"
        while len(open_lists) < level:
            made += f"<{kind}>" if len(open_lists) == level - 1 else f"<{kind}><li>"
            open_lists.append(kind)
        made += f"<li>{_spans(block, file, tell)}"
    return made + "".join(f"</li></{one}>" for one in reversed(open_lists))


def is_portable_text(value: Any) -> bool:
    """Return whether a value is Portable Text: an array with a block in it."""
    return isinstance(value, list) and any(one.get("_type") == "block" for one in mappings(value))


def _block(block: Mapping[str, Any], file: File, tell: Tell) -> str:
    kind = text(block.get("_type"))
    if kind == "block":
        style = text(block.get("style")) or "normal"
        tag = _STYLES.get(style)
        if tag is None:
            tell(f"the style {style[:60]!r}", "it is not known: the text is a paragraph")
        inside = _spans(block, file, tell)
        return f"<{tag or 'p'}>{inside}</{tag or 'p'}>" if inside else ""
    if kind in ("image", "file"):
        found = file(block)
        if found is None:
            return ""
        words = text(block.get("caption"))
        caption = f"<figcaption>{escape(words, quote=False)}</figcaption>" if words else ""
        if kind == "file":
            return f'<p><a href="{escape(found["url"])}">{escape(words or found["url"])}</a></p>'
        return f'<figure><img src="{escape(found["url"])}" alt="{escape(found.get("alt") or "")}">{caption}</figure>'
    if kind == "code" and isinstance(block.get("code"), str):
        language = text(block.get("language"))
        marked = f' class="language-{escape(language)}"' if language and " " not in language else ""
        return f"<pre><code{marked}>{escape(block['code'], quote=False)}</code></pre>"
    if kind in ("break", "divider", "horizontalRule", "hr"):
        return "<hr>"
    if kind == "table" and mappings(block.get("rows")):
        rows = (
            "".join(f"<td>{escape(text(cell), quote=False)}</td>" for cell in listed(row.get("cells")))
            for row in mappings(block["rows"])
        )
        return f"<table><tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table>"
    if kind in ("youtube", "vimeo", "video", "embed", "videoEmbed") and text(block.get("url")).startswith("http"):
        return embed(text(block["url"]))
    tell(f"a block {kind[:60]!r} of a rich text", "only the site can render it: write it as HTML, or as groups")
    return ""


def _spans(block: Mapping[str, Any], file: File, tell: Tell) -> str:
    links = {text(one.get("_key")): one for one in mappings(block.get("markDefs"))}
    made = ""
    for span in mappings(block.get("children")):
        if span.get("_type", "span") != "span":
            if span.get("_type") == "image" and (found := file(span)) is not None:
                made += f'<img src="{escape(found["url"])}" alt="{escape(found.get("alt") or "")}">'
            else:
                tell(f"an object {text(span.get('_type'))[:60]!r} in a line", "only the site can render it")
            continue
        marks = [one for one in listed(span.get("marks")) if isinstance(one, str)]
        inside = escape(text(span.get("text")), quote=False).replace("\n", "<br>")
        for opening, closing in _marks(marks, links, tell):
            inside = f"{opening}{inside}{closing}"
        made += inside
    return made


def _marks(marks: list[str], links: Mapping[str, Mapping[str, Any]], tell: Tell) -> Iterator[tuple[str, str]]:
    """Return the tags around a span, the innermost first."""
    for mark in reversed(marks):
        if mark in _MARKS:
            yield f"<{_MARKS[mark]}>", f"</{_MARKS[mark]}>"
            continue
        link = mapping(links.get(mark))
        href = text(link.get("href")) or text(link.get("url"))
        if href:
            yield f'<a href="{escape(href)}">', "</a>"
        elif at(link, "reference", "_ref") or link.get("_ref"):
            tell("a link to an entry", "the export does not contain the address of its page: its text stays")
        else:
            what = text(link.get("_type")) or mark
            tell(f"a mark {what[:60]!r}", "it is not known: the text stays")

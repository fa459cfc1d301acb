"""Render the blocks of Strapi's rich text editor as HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from snapshots.importers.reading.shapes import mapping, mappings, text

Tell = Callable[[str, str], None]
"""(what, why) of something lost."""

MAX_DEPTH = 50
_MARKS = {"bold": "strong", "italic": "em", "underline": "u", "strikethrough": "s", "code": "code"}


def blocks_html(blocks: Any, tell: Tell) -> str:
    """Return blocks as HTML; ``tell`` is told of every loss."""
    return "".join(_block(one, tell, 0) for one in mappings(blocks))


def _block(block: Mapping[str, Any], tell: Tell, depth: int) -> str:
    kind = text(block.get("type"))
    if depth > MAX_DEPTH:
        tell("a part of a rich text", f"its blocks are nested more than {MAX_DEPTH} deep")
        return ""
    if kind == "text":
        made = escape(text(block.get("text")), quote=False).replace("\n", "<br>")
        for mark, tag in _MARKS.items():
            made = f"<{tag}>{made}</{tag}>" if block.get(mark) is True else made
        return made
    inside = "".join(_block(one, tell, depth + 1) for one in mappings(block.get("children")))
    match kind:
        case "paragraph":
            return f"<p>{inside}</p>" if inside else ""
        case "heading":
            level = block.get("level")
            tag = f"h{level}" if level in (1, 2, 3, 4, 5, 6) else "h2"
            return f"<{tag}>{inside}</{tag}>"
        case "list":
            tag = "ol" if block.get("format") == "ordered" else "ul"
            return f"<{tag}>{inside}</{tag}>"
        case "list-item":
            return f"<li>{inside}</li>"
        case "quote":
            return f"<blockquote>{inside}</blockquote>"
        case "code":
            language = text(block.get("language"))
            marked = f' class="language-{escape(language)}"' if language and " " not in language else ""
            return f"<pre><code{marked}>{inside}</code></pre>"
        case "link":
            return f'<a href="{escape(text(block.get("url")))}">{inside}</a>'
        case "image":
            image = mapping(block.get("image"))
            url, words = text(image.get("url")), text(image.get("alternativeText"))
            return f'<figure><img src="{escape(url)}" alt="{escape(words)}"></figure>' if url else ""
    tell(f"a block {kind[:60]!r} of a rich text", "it is not known: the text in it stays")
    return inside

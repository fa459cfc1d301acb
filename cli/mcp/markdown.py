"""Entries as Markdown: values above, and each rich text below, made from the HTML that the API delivers.

A store keeps no sources, and a server tells none, so that the HTML is what there is of a rich text in both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bs4 import Tag
from markdownify import ATX, MarkdownConverter

_LANGUAGE: Final = "language-"


class _Converter(MarkdownConverter):
    """Writes the HTML of rich texts: task lists, code with its language, tables with bars in cells."""

    def convert_input(self, el: Tag, text: str, parent_tags: set[str]) -> str:  # called with all
        return "[x]" if el.has_attr("checked") else "[ ]"

    def convert_td(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return str(super().convert_td(el, _cell(text), parent_tags))  # type: ignore[misc]

    def convert_th(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return str(super().convert_th(el, _cell(text), parent_tags))  # type: ignore[misc]

    def escape(self, text: str, parent_tags: set[str]) -> str:
        return str(super().escape(text, parent_tags)).replace("<", "\\<")  # type: ignore[misc]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _language(block: Tag) -> str:
    code = block.find("code")
    names = code.get_attribute_list("class") if isinstance(code, Tag) else []
    return next((str(name).removeprefix(_LANGUAGE) for name in names if str(name).startswith(_LANGUAGE)), "")


_converter: Final = _Converter(heading_style=ATX, bullets="-", code_language_callback=_language)


def markdown_of(html: str) -> str:
    """Return a rich text as Markdown."""
    # Inside an element: a text without any, such as the name of a file, is taken for a mistake.
    return str(_converter.convert(f"<div>{html}</div>")).strip()


def entry_as_markdown(entry: Mapping[str, Any], fields: Sequence[Mapping[str, Any]]) -> str:
    """Return an entry as a Markdown document.

    ``fields`` are those of its API as ``_schema`` lists them. Above are the values, as YAML; below is each rich text
    under a comment with its field's ID. Rich texts in groups and in expanded references stay among the values.
    """
    rich = {field["id"] for field in fields if field["type"] == "richtext"}
    above = [f"{name}: {_compact(value)}" for name, value in entry.items() if name not in rich or value is None]
    below = [f"<!-- {name} -->\n\n{markdown_of(entry[name])}\n" for name in entry if name in rich and entry[name]]
    return "\n".join(["---", *above, "---\n", *below])


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))

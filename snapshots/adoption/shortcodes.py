"""Write the rules that turn the link tags of Hugo and Jekyll into links between entries."""

from __future__ import annotations

import re
from collections.abc import Iterable

from snapshots.adoption.reading import MAX_BYTES

_HUGO = r"\{\{[<%]\s*"
_LIQUID = r"\{%-?\s*"
_OUTPUT = r"\{\{-?\s*"
_FILTERED = rf"""{_OUTPUT}(?:"[^"]*"|'[^']*')\s*\|\s*"""
_CONTAINERS = {":::": r"\{?[A-Za-z]", "::: details": "details", "::: code-group": "code-group", "::: raw": "raw"}
_TAGS = {
    **{name: re.compile(rf"{_HUGO}{name}\s") for name in ("ref", "relref")},
    **{name: re.compile(rf"{_LIQUID}{name}\s") for name in ("link", "post_url")},
    **{name: re.compile(rf"{_OUTPUT}{re.escape(name)}\b") for name in ("site.baseurl", "site.url")},
    **{name: re.compile(rf"{_FILTERED}{name}\b") for name in ("relative_url", "absolute_url")},
    **{name: re.compile(rf"(?:{_LIQUID}|{_HUGO}){name}\b") for name in ("comment", "raw", "highlight", "codeblock")},
    **{name: re.compile(rf"^{name}\s", re.MULTILINE) for name in ("import", "export")},
    "import-in-md": re.compile(r"^(?:import|export)\s", re.MULTILINE),
    **{name: re.compile(rf"^[ \t]*:::+[ \t]*{kind}", re.MULTILINE) for name, kind in _CONTAINERS.items()},
    "[[": re.compile(r"\[\["),
    "![[ picture": re.compile(r"!\[\[[^\[\]|\n]+\.(?:avif|gif|jpe?g|png|svg|webp)\s*[|\]]", re.IGNORECASE),
    "{#": re.compile(r"\{#(?![\w:.-]+\})"),
    "%%": re.compile(r"%%"),
}
_MARKS = (b"{", b"%%", b":::", b"[[", b"import", b"export")
"""One of them stands in every text that has a tag."""
ALERTS: dict[str, str] = {
    ":::": '\n<div class="markdown-alert markdown-alert-{alert}">\n<p class="markdown-alert-title">{title}</p>\n\n'
    "{inner}\n\n</div>\n",
    "::: details": "\n<details>\n<summary>{title}</summary>\n\n{inner}\n\n</details>\n",
    "::: code-group": "{inner}",
    "::: raw": "{inner}",
}
"""The rules for containers, which become what alerts of GitHub are."""
STATEMENTS: dict[str, str] = {"import": "", "export": "", "import-in-md": ""}
"""The rules for statements of MDX, which programs read."""
PAGE_URLS = (
    "links by {} lead only to entries of APIs that have a 'page_url': add the address of an entry's page to the "
    "definitions in apis/, such as 'page_url: /posts/{{id}}/'"
)
"""The note for a person about how to make tags lead to pages."""


def tags_in(data: bytes, names: Iterable[str]) -> set[str]:
    """Return those of the tags that stand in a Markdown file, given as its bytes."""
    if not any(mark in data for mark in _MARKS):
        return set()
    text = data[:MAX_BYTES].decode(errors="replace")
    return {name for name in names if _TAGS[name].search(text)}

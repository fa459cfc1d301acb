"""Write the rules that turn the link tags of Hugo and Jekyll into links between entries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from snapshots.adoption.folders import is_markdown
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
    "{#": re.compile(r"\{#(?![\w:.-]+\})"),
    "%%": re.compile(r"%%"),
}
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


def named_in(root: Path, files: Iterable[str], rules: Mapping[str, str]) -> dict[str, str]:
    """Return those rules, by the names of tags, whose tags stand in a site's Markdown files."""
    missing = dict.fromkeys(rules)
    for file in filter(is_markdown, files):
        try:
            with (root / file).open("rb") as opened:
                text = opened.read(MAX_BYTES).decode(errors="replace")
        except OSError:
            continue
        if any(mark in text for mark in ("{", "%%", ":::", "[[", "import", "export")):
            for name in [name for name in missing if _TAGS[name].search(text)]:
                del missing[name]
        if not missing:
            break
    return {name: rule for name, rule in rules.items() if name not in missing}

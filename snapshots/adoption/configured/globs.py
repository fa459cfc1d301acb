"""Patterns of paths as the configurations of generators write them."""

from __future__ import annotations

import re


def glob(pattern: str) -> re.Pattern[str]:
    """Return a pattern of paths as generators have it, as a regular expression: ``**`` goes through folders, ``{a,b}``
    is either. One that cannot be read matches nothing."""
    made = ""
    for found in re.finditer(r"\*\*|\*|\?|\[[^\]]*\]|[{},]|[^*?\[{},]+|\[", pattern):
        text = found[0]
        is_set = text.startswith("[") and text.endswith("]")
        known = {"**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")", ",": "|" if "(?:" in made else ","}
        made += text.replace("[!", "[^") if is_set else known.get(text, re.escape(text))
    try:
        return re.compile(made, re.IGNORECASE)
    except re.error:
        return re.compile(r"(?!)")


def either(pattern: str) -> list[str]:
    """Return a pattern for each of the words in braces of one: ``a.{x,y}`` is ``a.x`` and ``a.y``."""
    found = re.search(r"\{([^{}]*,[^{}]*)\}", pattern)
    if found is None:
        return [pattern]
    made = (f"{pattern[: found.start()]}{word}{pattern[found.end() :]}" for word in found[1].split(","))
    return [one for each in made for one in either(each)]

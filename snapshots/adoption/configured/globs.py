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


_PARTS = re.compile(r"\*\*/|\*\*|[@+?*!]\(|\*|\?|\[[^\]]*\]|[{},()|]|\\.|[^*?\[{},()|@+!\\]+|.")
_REPEATED = {"@": "", "+": "+", "?": "?", "*": "*"}


def javascript_glob(pattern: str) -> re.Pattern[str]:
    """Return a pattern of micromatch and its like as a regular expression: ``**/`` goes through any number of folders,
    ``{a,b}`` and ``@(a|b)`` are either. One that cannot be read matches nothing."""
    made, closing = "", list[str]()
    known = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]", "|": "|"}
    for found in _PARTS.finditer(pattern.removeprefix("./")):
        text = found[0]
        if text == "{" or text[1:] == "(":
            if text[0] == "!":
                return re.compile(r"(?!)")
            closing.append(f"){_REPEATED.get(text[0], '')}")
            made += "(?:"
        elif text in ("}", ")") and closing:
            made += closing.pop()
        elif text == "," and closing:
            made += "|"
        elif text.startswith("[") and len(text) > 2:
            made += f"(?!/){text.replace('[!', '[^', 1)}"
        else:
            made += known.get(text, re.escape(text[-1] if text.startswith("\\") else text))
    try:
        return re.compile(made)
    except re.error:
        return re.compile(r"(?!)")


def either(pattern: str) -> list[str]:
    """Return a pattern for each of the words in braces of one: ``a.{x,y}`` is ``a.x`` and ``a.y``."""
    found = re.search(r"\{([^{}]*,[^{}]*)\}", pattern)
    if found is None:
        return [pattern]
    made = (f"{pattern[: found.start()]}{word}{pattern[found.end() :]}" for word in found[1].split(","))
    return [one for each in made for one in either(each)]

"""Find slips of the hand that a parser notices late, elsewhere or not at all: their lines and messages."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect
from collections.abc import Iterator
from typing import Any

import yaml

_CONFLICT = re.compile(
    r"^<{7} [^\n]*\n(?:(?!<{7} |>{7} )[^\n]*\n)*?={7}\r?\n(?:(?!<{7} |={7}\r?\n)[^\n]*\n)*?>{7} ", re.MULTILINE
)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_ALMOST_OPENING = re.compile(
    r"(?:[ \t\u3000\ufeff]*\r?\n)*(?P<space>[ \t\u3000\ufeff]*)"
    r"(?P<mark>[-\u2010-\u2015\u2212\uff0d]{2,})[ \t]*\r?\n"
    r"(?=[ \t]*[\w-]+[ \t]*[:\uff1a])"
)
_NAMED_OPENING = re.compile(r"---[ \t]*(?P<format>[A-Za-z]\w*)[ \t]*\r?\n")
_ALMOST_CLOSING = re.compile(r"^[ \t\u3000]*[-\u2010-\u2015\u2212\uff0d]{2,}[ \t\u3000]*\r?$", re.MULTILINE)
_WIDE_COLON = re.compile(r"[ ]*(?:- +)*([\w.-]+)[ \t\u3000]*\uff1a")
_CLOSE_COLON = re.compile(r"[ ]*(?:- +)*([\w.-]+):[^ \t\r\n/\\:]")
_EQUALS = re.compile(r"([\w-]+) *= *(\S.*)")
_SWALLOWED_KEY = re.compile(r"\n[ \t]*(?:- +)?[\w.-]+:(?: |\r?\n)")
_SECOND_COLON = "mapping values are not allowed in this context"
_BEGINNINGS = {
    **dict.fromkeys(("yaml", "yml"), "write ---"),
    "toml": "write +++ on this line and on the one that ends it, for TOML",
    "json": "remove this line and the one that ends it, for JSON",
}
_QUOTES = {"\u201c": '"', "\u201d": '"', "\u201e": '"', "\u3000": " "}


def conflicts(text: str, *, markdown: bool) -> Iterator[int]:
    """Return the line of every merge conflict that git left in a text; in Markdown not those inside of code fences."""
    fences = list(_fences(text)) if markdown else []
    for match in _CONFLICT.finditer(text):
        before = bisect(fences, match.start(), key=lambda fence: fence[0]) - 1
        end = fences[before][1] if before >= 0 else 0
        if end is not None and end < match.end():
            yield _line(text, match.start())


def open_fence(text: str) -> int | None:
    """Return the line of the code fence that a Markdown text opens and never closes; ``None`` without one."""
    if "```" not in text and "~~~" not in text:
        return None
    return next((_line(text, start) for start, end in _fences(text) if end is None), None)


def front_matter_slip(text: str) -> tuple[int, str] | None:
    """Return line and message of front matter that is not read as such, since its first line is not quite ``---``."""
    if text[:1] not in "-\n\r\ufeff \t\u3000\u2010\u2011\u2012\u2013\u2014\u2015\u2212\uff0d":
        return None
    named = _NAMED_OPENING.match(text)
    if named is not None and _ALMOST_CLOSING.search(text, named.end()):
        instead = _BEGINNINGS.get(named["format"].lower())
        if instead is None:
            name = named["format"]
            return 1, f"front matter in {name} is a program, and none is run: write it as YAML, between lines of ---"
        return 1, f"front matter begins with a line of ---, without the name of a format: {instead}"
    opening = _ALMOST_OPENING.match(text)
    if opening is None or not _ALMOST_CLOSING.search(text, opening.end()):
        return None
    line = _line(text, opening.start("mark"))
    if opening["mark"] != "---":
        return line, f"front matter begins with a line of ---, but this line is {opening['mark']}: write ---"
    if opening["space"]:
        return line, "a space stands before the --- that begins the front matter: remove it"
    return 1, "a blank line stands before the --- that begins the front matter: remove it"


def closing_slip(text: str, start: int) -> tuple[int, str] | None:
    """Return line and message of the line that was meant to end the front matter which begins at ``start``."""
    found = _ALMOST_CLOSING.search(text, start)
    if found is None:
        return None
    mark = found.group().rstrip("\r")
    return _line(text, found.start()), f"the front matter ends with a line of ---, but this line is {mark!r}: write ---"


def yaml_slip(text: str, error: yaml.MarkedYAMLError, at: int) -> tuple[int, str] | None:
    """Return line (from 0) and message of the slip behind a YAML error on line ``at``; ``None`` where none is known."""
    context = error.context_mark
    if error.context == "while scanning a quoted scalar" and context is not None:
        return context.line, "the quote that begins here is never closed: close it at the end of the value"
    if (swallowed := _swallowing(text)) is not None and swallowed[1] in (at, at - 1):
        start, end = swallowed
        return start, f"the quote that begins here is closed only {end - start} lines below: close it on its own line"
    lines = text.split("\n")
    here = lines[at] if at < len(lines) else ""
    is_of_key = error.problem_mark is not None and ":" not in here[: error.problem_mark.column]
    if error.problem == "could not find expected ':'" or (error.problem == _SECOND_COLON and is_of_key):
        return _colon_slip(lines, at - 1)
    return None


def scalar_slip(text: str) -> tuple[int, str] | None:
    """Return line (from 0) and message of the slip that made a mapping one text; ``None`` where none is known."""
    lines = text.split("\n")
    equals = _EQUALS.match(lines[0])
    if equals is not None:
        message = (
            f"{equals[1]!r} is followed by =, which YAML has no use for: write '{equals[1]}: {equals[2].strip()}', or, "
            "if all of it is TOML, begin and end it with a line of +++"
        )
        return 0, message
    return _colon_slip(lines, 0)


def in_ascii(text: str) -> str | None:
    """Return a text with the ASCII forms of its full-width characters; ``None`` where it has none."""
    if text.isascii():
        return None
    plain = unicodedata.normalize("NFKC", "".join(_QUOTES.get(character, character) for character in text))
    plain = plain.replace("\u2212", "-")
    return plain if plain.isascii() else None


def _colon_slip(lines: list[str], number: int) -> tuple[int, str] | None:
    """Return line and message of the topmost adjoining line, up from ``number``, whose key has no colon for YAML."""
    result = None
    while number >= 0:
        line = lines[number]
        if (wide := _WIDE_COLON.match(line)) is not None:
            message = (
                f"there is a full-width colon after {wide[1]!r}: write '{wide[1]}: ', with a space after the colon"
            )
        elif (close := _CLOSE_COLON.match(line)) is not None:
            message = f"there is no space after the colon of {close[1]!r}: write '{close[1]}: '"
        else:
            break
        result = number, message
        number -= 1
    return result


def _swallowing(text: str) -> tuple[int, int] | None:
    """Return first and last line (from 0) of the quoted scalar before the error, if it goes on over further keys."""
    last: Any = None
    try:
        for event in yaml.parse(text, yaml.CBaseLoader):
            if isinstance(event, yaml.ScalarEvent):
                last = event
    except yaml.YAMLError:
        pass
    if last is None or last.style not in ("'", '"') or last.start_mark.line == last.end_mark.line:
        return None
    if _SWALLOWED_KEY.search(text, last.start_mark.index, last.end_mark.index) is None:
        return None
    return last.start_mark.line, last.end_mark.line


def _fences(text: str) -> Iterator[tuple[int, int | None]]:
    """Return start and end of every code fence of a Markdown text; the end of an open one is ``None``."""
    opened: tuple[int, str] | None = None
    for match in _FENCE.finditer(text):
        mark, rest = match[1], match[2]
        if opened is None:
            if mark[0] == "~" or "`" not in rest:
                opened = match.start(), mark
        elif mark[0] == opened[1][0] and len(mark) >= len(opened[1]) and not rest.strip():
            yield opened[0], match.end()
            opened = None
    if opened is not None:
        yield opened[0], None


def _line(text: str, position: int) -> int:
    return 1 + text.count("\n", 0, position)

"""Say in plain words what is behind an error of the YAML parser, on the line where its cause is.

The parser tells where it gave up, and in terms of its grammar: an unclosed bracket is noticed on a line below, and
"mapping values are not allowed in this context" is a colon in a title.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import yaml

_KEY = re.compile(r"(?P<indent> *)(?P<dash>(?:- +)*)(?P<key>[\w.$/-][\w .$/-]*?) *:(?: +(?P<value>\S.*?))?\s*$")
_MARKED_KEY = re.compile(r"[*&%@`!]+[\w -]+[*&%@`!]*:")
_CLOSING: Final = {"[": "]", "{": "}"}
_NO_COLON = "could not find expected ':'"
_SECOND_COLON = "mapping values are not allowed in this context"
_SHOWN = 60

Fault = tuple[int, str]
"""Line, from 0, and message."""


class _Error:
    """An error of the parser, with the lines around it."""

    def __init__(self, text: str, error: yaml.MarkedYAMLError, at: int, begun: int) -> None:
        """``at`` is the line of the error, ``begun`` that of its context; from 0."""
        self.lines = text.split("\n")
        self.at, self.begun = at, begun
        mark, context = error.problem_mark or error.context_mark, error.context_mark or error.problem_mark
        self.column = 0 if mark is None else mark.column
        self.begun_column = 0 if context is None else context.column
        self.here, self.there = self.line(at), self.line(begun)

    def line(self, number: int) -> str:
        return self.lines[number].rstrip("\r") if 0 <= number < len(self.lines) else ""

    def above(self) -> str:
        """Return the line before that of the error which is not blank."""
        return next((line for number in range(self.at - 1, -1, -1) if (line := self.line(number)).strip()), "")


def plain_fault(text: str, error: yaml.MarkedYAMLError, at: int, begun: int) -> Fault | None:
    """Return line and message of the cause of an error that the parser noticed on line ``at``, in what begins on line
    ``begun``, all counted from 0; ``None`` where nothing plainer is known."""
    explain = _EXPLAINED.get(error.problem or "")
    return None if explain is None else explain(_Error(text, error, at, begun))


def _unclosed(error: _Error) -> Fault:
    opening = error.there[error.begun_column : error.begun_column + 1] or "["
    closing = _CLOSING.get(opening, "]")
    what = f"the {opening} at column {error.begun_column + 1}"
    if error.at == error.begun:
        return error.at, f"a comma, or the {closing} that closes {what}, is missing before column {error.column + 1}"
    key = _KEY.match(error.here)
    if not error.here.strip() or (key is not None and len(key["indent"]) <= _indent(error.there)):
        return error.begun, f"{what} is never closed: write {closing} where the values end"
    return error.at, f"a comma is missing before this line, or the {closing} that closes {what} of line {{begun}}"


def _no_key(error: _Error) -> Fault:
    stopped = error.here[error.column : error.column + 1]
    before = error.here[: error.column].rstrip()
    if stopped in ("]", "}"):
        return error.at, f"the {stopped} at column {error.column + 1} closes nothing: remove it"
    if before.endswith(("'", '"')):
        return error.at, _after_quote(before, len(before))
    return error.at, (
        f"this line begins at column {_indent(error.here) + 1}, and no key that it could belong to does: begin it "
        "exactly below the key above that it goes with"
    )


def _after_quote(before: str, column: int) -> str:
    said = f"the {before[-1]} at column {column} ends the text, and more follows: "
    if before[-1] == "'":
        return said + "write '' for an apostrophe inside single quotes, or put the whole value in double quotes"
    return said + 'write \\" for a quote inside double quotes, or put the whole value in single quotes'


def _colon(error: _Error) -> Fault:
    key = _KEY.match(error.here)
    if key is not None and key["value"] is None and ":" in error.here[: error.column]:
        key = _KEY.match(error.here.rstrip().removesuffix(":"))
        colon = ":"
    else:
        colon = ""
    if key is not None and key["value"] is not None and ":" in error.here[: error.column]:
        value = key["value"] + colon
        return error.at, (
            f"the value of {key['key']!r} has a colon in it, so it must be in quotes: "
            f"write {key['key']}: {_quoted(value)}"
        )
    above = error.above()
    if (_KEY.match(above)) is not None and _indent(error.here) > _indent(above):
        return error.at, (
            "this line is indented more than the key above it, which has a value already: begin it exactly below that "
            "key, or put the value in quotes if it goes on here"
        )
    if above.strip() and _KEY.match(above) is None:
        return error.lines.index(above) if above in error.lines else error.at - 1, _without_colon(above)
    return error.at, "there is a colon where none can be: put a value that has a colon in it in quotes"


def _missing_colon(error: _Error) -> Fault:
    return error.begun, _without_colon(error.there)


def _without_colon(line: str) -> str:
    return (
        f"{_cut(line.strip())!r} has no colon, so it is not a key with a value: write 'key: value'; indent it if it "
        "goes on with the text above; or end the front matter with a line of --- before it"
    )


def _bad_beginning(error: _Error) -> Fault:
    stopped = error.here[error.column : error.column + 1]
    if stopped == "\t" or not error.here[: error.column + 1].strip():
        return _tab(error)
    return error.at, _must_quote(error.here, error.column)


def _tab(error: _Error) -> Fault:
    return error.at, "a tab stands where this line begins, and YAML takes spaces only: indent it with spaces"


def _star(error: _Error) -> Fault:
    return error.begun, _must_quote(error.there, error.begun_column)


def _list_or_key(error: _Error) -> Fault:
    return error.at, _must_quote(error.here, error.column)


def _must_quote(line: str, column: int) -> str:
    """Return the message about a text without quotes that begins with a character which means something else."""
    text = line[column:].strip()
    before = line[:column].strip()
    if not before and _MARKED_KEY.match(text) is not None:
        return f"a key cannot begin with {text[:1]}: remove it, and its like before the colon"
    key = before.removesuffix(":").lstrip("- ") if before.endswith(":") else ""
    what = f"the value of {key!r}" if key else "a text"
    example = f"{key}: {_quoted(text)}" if key else _quoted(text)
    return f"{what} cannot begin with {text[:1]} unless it is in quotes: write {example}"


def _block(error: _Error) -> Fault:
    mark = error.there[error.begun_column : error.begun_column + 1]
    text = error.there[error.begun_column :].strip()
    return error.begun, (
        f"nothing can follow the {mark} at column {error.begun_column + 1} on its line: begin the text on the next "
        f"line, indented, or put it in quotes: {_quoted(text)}"
    )


def _new_document(error: _Error) -> Fault:
    first = next((number for number, line in enumerate(error.lines) if line.strip()), error.at)
    if _indent(error.line(first)) > _indent(error.here):
        return first, "a space stands before the key on this line and none before the next key: remove it"
    return error.at, "this line does not belong to what stands above it: check its indentation, and brackets above it"


def _escape(error: _Error) -> Fault:
    return error.at, (
        f"the backslash at column {error.column} means something else in double quotes: write it twice, or put the "
        "value in single quotes"
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _quoted(text: str) -> str:
    """Return a text in quotes, as YAML takes it."""
    if '"' in text or "\\" in text:
        return "'" + _cut(text).replace("'", "''") + "'"
    return f'"{_cut(text)}"'


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


_EXPLAINED: Final[dict[str, Callable[[_Error], Fault]]] = {
    "did not find expected ',' or ']'": _unclosed,
    "did not find expected ',' or '}'": _unclosed,
    "did not find expected key": _no_key,
    _SECOND_COLON: _colon,
    _NO_COLON: _missing_colon,
    "found character that cannot start any token": _bad_beginning,
    "found a tab character that violates indentation": _tab,
    "did not find expected alphabetic or numeric character": _star,
    "did not find expected comment or line break": _block,
    "mapping keys are not allowed in this context": _list_or_key,
    "block sequence entries are not allowed in this context": _list_or_key,
    "did not find expected <document start>": _new_document,
    "found unknown escape character": _escape,
}

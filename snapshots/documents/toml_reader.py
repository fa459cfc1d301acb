"""Parse TOML, a whole file or the front matter of a Markdown file, into documents."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from datetime import date, datetime, time
from typing import Any

from snapshots.documents.document import MAX_DEPTH, ContentDocument, LineTree, RawValue, decode
from snapshots.documents.slips import in_ascii
from snapshots.problems import Problems

_UNCLOSED = re.compile(r"""(?:Expected "('|''')"|Unterminated string)""")
_POSITION = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|'
    r"'''.*?'{3,5}|"
    r'"(?:[^"\\\n]|\\.)*"|'
    r"'[^'\n]*'|#[^\n]*|[\[\]{}=,.\n]|[^\s\"'\[\]{}=,.#]+",
    re.DOTALL,
)


class InvalidToml(ValueError):
    """A text cannot be read as TOML. Holds the fault, its kind, and its line in the file."""

    def __init__(self, line: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.line, self.kind = line, kind


def read_toml(file: str, data: bytes, problems: Problems) -> Iterator[ContentDocument]:
    """Return the one document of a TOML file."""
    text = decode(file, data, problems)
    if text is None:
        return
    try:
        values, lines = parse_toml(text)
    except InvalidToml as error:
        problems.error(file, error.line, error.kind, str(error), in_version=True)
        return
    yield ContentDocument(values, 1, None, None, False, lines)


def parse_toml(text: str, *, first_line: int = 1) -> tuple[dict[str, RawValue], LineTree]:
    """Return the values of a text, which begins on line ``first_line`` of its file, and their lines.

    Dates and times become texts. Raises InvalidToml.
    """
    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise _too_deep(first_line) from None
    except ValueError as error:
        found = _POSITION.search(str(error))
        line = first_line + text.count("\n") if found is None or found[1] is None else first_line + int(found[1]) - 1
        message = _POSITION.sub("", str(error))
        unclosed = _UNCLOSED.fullmatch(message)
        if unclosed is not None and (found is None or found[1] is None):
            line = first_line + text.count("\n", 0, max(0, text.rfind(unclosed[1] or '"')))
            raise InvalidToml(line, "syntax", "invalid TOML: the quote that begins here is never closed") from None
        slip = None if found is None or found[1] is None else _slip(text, int(found[1]), int(found[2]), message)
        if slip is not None:
            raise InvalidToml(line, "syntax", f"invalid TOML: {slip}") from None
        column = f" (column {found[2]})" if found is not None and found[2] else ""
        raise InvalidToml(line, "syntax", f"invalid TOML: {message[:1].lower()}{message[1:]}{column}") from None
    lines = _lines(text, first_line)
    return {key: _raw(value, 1, lines.inside or {}, key) for key, value in values.items()}, lines


def _slip(text: str, line: int, column: int, message: str) -> str | None:
    """Return the slip of the hand at a place of a text; ``None`` where none is known."""
    written = text.split("\n")[line - 1]
    here = written[column - 1 : column]
    if here and (meant := in_ascii(here)) is not None:
        meant = "=" if message.startswith("Expected '='") else meant
        return f"{here} at column {column} is a full-width character: write {meant}"
    if message.startswith("Illegal character '\\n'"):
        return "the quote on this line is never closed: close it at the end of the value"
    return None


def _raw(value: Any, depth: int, lines: dict[str | int, LineTree], key: str | int) -> RawValue:
    """Return a value of tomllib as a raw value."""
    if isinstance(value, dict | list):
        here = lines.get(key)
        if depth >= MAX_DEPTH:
            raise _too_deep(here.line if here is not None else 1)
        inside = here.inside if here is not None and here.inside is not None else {}
        if isinstance(value, dict):
            return {inner: _raw(item, depth + 1, inside, inner) for inner, item in value.items()}
        return [_raw(item, depth + 1, inside, at) for at, item in enumerate(value)]
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    assert isinstance(value, str | bool | int | float)  # tomllib gives nothing else
    return value


def _too_deep(line: int) -> InvalidToml:
    return InvalidToml(line, "too-deep", f"tables and arrays are nested more than {MAX_DEPTH} deep")


def _lines(text: str, line: int) -> LineTree:
    """Return the lines of all keys and array items of a valid text, which begins on ``line``."""
    root = LineTree(line, {})
    table = root
    tokens = _Tokens(text, line)
    while (mark := tokens.next()) is not None:
        if mark == "\n" or mark.startswith("#"):
            continue
        if mark == "[":
            here = tokens.line
            many = tokens.follows("[")
            if many:
                tokens.next()
            table = _table(root, tokens.key("]"), here, many=many)
            if many:
                tokens.next()
        else:
            here = tokens.line
            target = _table(table, tokens.key("=", mark), here, many=False)
            _value(tokens, target)
    return root


def _table(start: LineTree, keys: list[str], line: int, *, many: bool) -> LineTree:
    """Return the node of a dotted key, made where it is missing; with ``many`` the next item of its array."""
    here = start
    for key in keys:
        inside = here.inside = {} if here.inside is None else here.inside
        here = inside.setdefault(key, LineTree(line))
        if here.inside and key is not keys[-1]:
            last = max((at for at in here.inside if isinstance(at, int)), default=None)
            here = here if last is None else here.inside[last]
    if many:
        here.inside = {} if here.inside is None else here.inside
        here = here.inside.setdefault(len(here.inside), LineTree(line))
    return here


def _value(tokens: _Tokens, node: LineTree) -> None:
    """Go over a value, and add the lines of the values inside to its node."""
    mark = tokens.next()
    while mark == "\n":
        mark = tokens.next()
    if mark == "[":
        node.inside = {}
        while not tokens.skip_to_item("]"):
            item = node.inside[len(node.inside)] = LineTree(tokens.line_of_next())
            _value(tokens, item)
    elif mark == "{":
        node.inside = {}
        while not tokens.skip_to_item("}"):
            here = tokens.line_of_next()
            _value(tokens, _table(node, tokens.key("="), here, many=False))
    else:  # numbers and dates are several tokens
        while (following := tokens.peek()) is not None and following not in ("\n", ",", "]", "}", "#"):
            if following.startswith("#"):
                return
            tokens.next()


class _Tokens:
    """The tokens of a valid text, with their lines."""

    def __init__(self, text: str, line: int) -> None:
        self._found = _TOKEN.finditer(text)
        self._text, self._at = text, 0
        self._ahead: tuple[str, int] | None = None
        self._counted = line
        self.line = line
        """The line of the last mark."""

    def peek(self) -> str | None:
        if self._ahead is None:
            match = next(self._found, None)
            if match is None:
                return None
            self._counted += self._text.count("\n", self._at, match.start())
            self._at = match.start()
            self._ahead = match.group(), self._counted
        return self._ahead[0]

    def next(self) -> str | None:
        if self.peek() is None or self._ahead is None:
            return None
        mark, self.line = self._ahead
        self._ahead = None
        return mark

    def follows(self, mark: str) -> bool:
        """Return whether a mark comes right after the last one, with nothing between."""
        return self.peek() == mark and self._text[self._at - 1] == mark

    def line_of_next(self) -> int:
        self.peek()
        return self._counted if self._ahead is None else self._ahead[1]

    def skip_to_item(self, end: str) -> bool:
        """Go to the next item of an array or inline table; return True, past ``end``, where there is none."""
        while (mark := self.peek()) is not None and (mark in ("\n", ",") or mark.startswith("#")):
            self.next()
        if mark is None or mark == end:
            self.next()
            return True
        return False

    def key(self, end: str, first: str | None = None) -> list[str]:
        """Return the steps of a dotted key, and go past the mark ``end`` behind it."""
        steps: list[str] = []
        mark = self.next() if first is None else first
        while mark is not None and mark != end:
            if mark != ".":
                steps.append(_plain(mark))
            mark = self.next()
        return steps


def _plain(key: str) -> str:
    """Return a key without its quotes."""
    if key[:1] not in "\"'":
        return key
    return str(next(iter(tomllib.loads(f"{key} = 0"))))

"""Parse JSON and JSONL into documents.

Values are read by Python's decoder. Where a value is refused, or holds a key twice, its tokens are gone through
to find the line: duplicate keys, ``NaN`` and lone surrogates, which Python takes, are errors here.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NoReturn

from snapshots.documents.document import MAX_DEPTH, ContentDocument, LineTree, RawValue, decode, item_name
from snapshots.documents.slips import in_ascii
from snapshots.problems import Problems

MAX_LINE_BYTES = 16 * 1024 * 1024
"""The most bytes of a line of JSONL."""

_SPACE = re.compile(r"[ \t\r\n]*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_LONG_INTEGER = re.compile(r"\d{4000,}")
# A token of valid JSON; in invalid JSON also the part at which it stops being valid.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_QUOTE = re.compile(r'(?<!\\)"')
_TOO_DEEP = f"objects and arrays are nested more than {MAX_DEPTH} deep"


class _DuplicateKeyError(Exception):
    """An object holds a key twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _DuplicateKeyError
    return result


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number: write null or leave the key out")


_decode_value = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant).raw_decode
_decode_last_keys = json.JSONDecoder(parse_constant=_refuse_constant).raw_decode
"""Decodes as ``_decode_value`` does, but of equal keys the last one wins."""


def read_json(file: str, data: bytes, problems: Problems) -> Iterator[ContentDocument]:
    """Return the documents of a JSON file: one for an object, one an item for an array of objects."""
    is_list = data.removeprefix(BOM_UTF8).lstrip()[:1] == b"["
    text = decode(file, data, problems, in_version=not is_list)
    if text is None:
        return
    if not is_list and not text.strip():
        problems.error(file, 1, "empty", "the file has no content: write an object, or remove it", in_version=True)
        return
    reader = _Reader(file, text, 1, problems)
    yield from reader.items() if is_list else reader.whole("for many, write an array")


def read_json_object(file: str, text: str, problems: Problems) -> tuple[ContentDocument, int] | None:
    """Return the document of the JSON object that a text begins with, and the object's end; ``None`` for a fault."""
    read = _Reader(file, text, 1, problems).first()
    return None if read is None or read[0] is None else (read[0], read[1])


def read_jsonl(file: str, data: bytes, problems: Problems) -> Iterator[ContentDocument]:
    """Return the documents of lines of JSONL. Blank lines have none; a line that cannot be read is one problem."""
    begin = len(BOM_UTF8) if data.startswith(BOM_UTF8) else 0
    for number in count(1):
        if begin >= len(data):
            return
        end = data.find(b"\n", begin)
        line = data[begin:] if end < 0 else data[begin:end]
        begin += len(line) + 1
        if len(line) > MAX_LINE_BYTES:
            message = f"the line has {len(line):,} bytes; at most {MAX_LINE_BYTES:,} are read"
            problems.error(file, number, "too-large", message, in_version=True)
        elif line.strip():
            text = decode(file, line, problems, first_line=number, has_mark=False)
            if text is not None:
                yield from _Reader(file, text, number, problems).whole("write one object a line")


class _Reader:
    """Reads a text that is one object, or an array of them, and begins on line ``first_line`` of its file."""

    def __init__(self, file: str, text: str, first_line: int, problems: Problems) -> None:
        self._file, self._text, self._problems = file, text, problems
        self._first_line = self._line = first_line
        self._counted = 0
        self._one_line = "\n" not in text

    def whole(self, for_many: str) -> Iterator[ContentDocument]:
        """Return the document of the one object; ``for_many`` is the remedy to name if a second one follows."""
        read = self._value(_end_of_space(self._text, 0), None)
        if read is None:
            return
        document, end = read
        rest = _end_of_space(self._text, end)
        if rest < len(self._text):
            self._report(rest, f"there is more text after the object: {for_many}", in_version=True)
        elif document is not None:
            yield document

    def first(self) -> tuple[ContentDocument | None, int] | None:
        """Return the document that the text begins with, and its end; ``None`` for a fault."""
        return self._value(0, None)

    def items(self) -> Iterator[ContentDocument]:
        """Return the documents of the array's items."""
        text = self._text
        here = _end_of_space(text, text.index("[") + 1)
        if text[here : here + 1] == "]":
            mark = "]"
            here = _end_of_space(text, here + 1)
        else:
            mark = ","
        for item in count():
            if mark == "]":
                break
            read = self._value(here, item)
            if read is None:
                return
            document, here = read
            if document is not None:
                yield document
            here = _end_of_space(text, here)
            mark = text[here : here + 1]
            if mark not in (",", "]") or not mark:
                self._report(here, "expecting ',' or ']' after an item of the array", in_version=False)
                return
            here = _end_of_space(text, here + 1)
        if here < len(text):
            self._report(here, "there is more text after the array", in_version=False)

    def _value(self, start: int, item: int | None) -> tuple[ContentDocument | None, int] | None:
        """Return the document of the value at ``start``, if it has one, and the value's end; ``None``: stop reading."""
        line = self._line_at(start)
        broken = False
        try:
            try:
                values, end = _decode_value(self._text, start)
            except _DuplicateKeyError:
                broken = True
                self._report_duplicates(start, line, item)
                values, end = _decode_last_keys(self._text, start)
        except (ValueError, RecursionError) as error:
            at, kind, message = self._refusal(error, start, line)
            self._problems.error(self._file, at, kind, message, in_version=item is None, item=item_name(item))
            return None
        if type(values) is not dict:
            message = f"expected an object, got {_describe(values)}"
            self._problems.error(self._file, line, "no-mapping", message, in_version=True, item=item_name(item))
            return None, end
        document = ContentDocument(values, line, None, item, broken)
        if not self._one_line:
            document.lines = lambda: _positions(self._text, start, line).lines
        complaint = _check(self._text, start, end, values)
        if complaint is not None:
            kind, message, path = complaint
            at = document.line_of(*path)
            self._problems.error(self._file, at, kind, message, in_version=True, item=item_name(item))
            return None, end
        return document, end

    def _report_duplicates(self, start: int, line: int, item: int | None) -> None:
        """Report the keys that objects of the value at ``start``, which is on line ``line``, hold twice."""
        for key, at, before in _positions(self._text, start, line).duplicates:
            where = "" if at == before else f": first on line {before}"
            message = f"the key {key!r} appears twice{where}"
            self._problems.error(self._file, at, "duplicate-key", message, in_version=True, item=item_name(item))

    def _refusal(self, error: Exception, start: int, line: int) -> tuple[int, str, str]:
        """Return line, kind and message of the decoder's error in the value at ``start``, which is on line ``line``."""
        if isinstance(error, RecursionError):
            deep = _positions(self._text, start, line).too_deep
            return line if deep is None else deep, "too-deep", _TOO_DEEP
        if isinstance(error, json.JSONDecodeError):
            error = _after_comma(error)
            at = self._first_line + error.lineno - 1
            slip = _slip(error)
            if slip is not None:
                return at, "syntax", f"invalid JSON: {slip}"
            message = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
            return at, "syntax", f"invalid JSON: {message} (column {error.colno})"
        if "int string conversion" in str(error) or "4300" in str(error):
            return self._line_of_number(start, line), "syntax", "invalid JSON: an integer of more than 4,300 digits"
        return self._line_of_number(start, line), "syntax", f"invalid JSON: {error}"

    def _line_of_number(self, start: int, line: int) -> int:
        """Return the line of the number that the decoder refused: NaN, Infinity or an endless integer."""
        for match in _TOKEN.finditer(self._text, start):
            if match.group().lstrip("-") in ("NaN", "Infinity") or _LONG_INTEGER.match(match.group().lstrip("-")):
                return line + self._text.count("\n", start, match.start())
        return line

    def _line_at(self, position: int) -> int:
        """Return the line of a position. Positions must ascend from call to call."""
        self._line += self._text.count("\n", self._counted, position)
        self._counted = position
        return self._line

    def _report(self, position: int, message: str, *, in_version: bool) -> None:
        line = self._line_at(position)
        self._problems.error(self._file, line, "syntax", f"invalid JSON: {message}", in_version=in_version)


def _after_comma(error: json.JSONDecodeError) -> json.JSONDecodeError:
    """Return an error about a superfluous comma as an error at the token behind the comma.

    Python 3.13 names the comma, earlier versions the token.
    """
    text, stop = error.doc, error.pos
    if error.msg.startswith("Illegal trailing comma"):
        stop = _end_of_space(text, stop + 1)
    if text[stop : stop + 1] not in ("}", "]") or not text[:stop].rstrip(" \t\r\n").endswith(","):
        return error
    return json.JSONDecodeError(f"there is a comma before '{text[stop]}'", text, stop)


def _slip(error: json.JSONDecodeError) -> str | None:
    """Return the slip of the hand behind an error; ``None`` where none is known."""
    text, stop = error.doc, error.pos
    here = text[stop : stop + 1]
    if here and (meant := in_ascii(here)) is not None:
        return f"{here} at column {error.colno} is a full-width character: write {meant}"
    if error.msg.startswith("Unterminated string") or (error.msg.startswith("Invalid control") and here in "\r\n"):
        start = stop if error.msg.startswith("Unterminated") else _start_of_text(text, stop)
        column = start - text.rfind("\n", 0, start)
        return f'the text that begins at column {column} is not closed on its line: end it with "'
    if error.msg.startswith("Expecting ',' delimiter") and here and here not in '"{[0123456789-':
        before = text[:stop].rstrip(" \t\r\n")
        if before.endswith('"') and before[:-1].rstrip().endswith((",", ":", "{", "[")):
            column = _start_of_text(text, len(before) - 1) - text.rfind("\n", 0, len(before))
            return f'the text that begins at column {column} is not closed where it ends: end it with "'
    return None


def _start_of_text(text: str, end: int) -> int:
    """Return the position of the quote that opens the text which ``end`` stands in."""
    begin = text.rfind("\n", 0, end) + 1
    quotes = [match.start() for match in _QUOTE.finditer(text, begin, end)]
    return quotes[-1] if quotes else begin


def _end_of_space(text: str, start: int) -> int:
    found = _SPACE.match(text, start)
    return found.end() if found else start


def _check(text: str, start: int, end: int, values: dict[str, Any]) -> tuple[str, str, tuple[str | int, ...]] | None:
    """Return (kind, message, path) of the first fault in an object that the decoder accepted."""
    if _deeper_than(values, MAX_DEPTH):
        key = next(key for key, value in values.items() if _deeper_than([value], MAX_DEPTH))
        return "too-deep", _TOO_DEEP, (key,)
    if text.find("\\u", start, end) >= 0 and _SURROGATE.search(text, start, end):
        path = _lone_surrogate(values)
        if path is not None:
            return "encoding", "half of a surrogate pair (\\ud800 to \\udfff) alone is no character: remove it", path
    return None


def _deeper_than(value: dict[str, Any] | list[Any], limit: int) -> bool:
    if limit == 0:
        return True
    for item in value.values() if type(value) is dict else value:
        if (type(item) is dict or type(item) is list) and _deeper_than(item, limit - 1):
            return True
    return False


def _lone_surrogate(value: object) -> tuple[str | int, ...] | None:
    """Return the path to the first text or key with half of a surrogate pair. The value's depth is bounded."""
    if isinstance(value, str):
        return () if _is_broken(value) else None
    steps: Iterator[tuple[str | int, Any]] = iter(())
    if isinstance(value, dict):
        steps = iter(value.items())
    elif isinstance(value, list):
        steps = iter(enumerate(value))
    for step, item in steps:
        if isinstance(step, str) and _is_broken(step):
            return (step,)
        path = _lone_surrogate(item)
        if path is not None:
            return (step, *path)
    return None


def _is_broken(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _describe(value: RawValue) -> str:
    if isinstance(value, list):
        return "an array"
    shown = json.dumps(value, ensure_ascii=False)
    return shown if len(shown) <= 60 else shown[:57] + "…"


@dataclass(slots=True)
class _Positions:
    """The lines of the parts of one JSON value."""

    lines: LineTree
    duplicates: list[tuple[str, int, int]] = field(default_factory=list)
    """(key, its line, the line of its first occurrence)."""
    too_deep: int | None = None
    """The line on which nesting exceeds the bound."""


def _positions(text: str, start: int, line: int) -> _Positions:
    """Return the lines of everything inside the value at ``start``, which is on line ``line``.

    The value should be valid: the lines after an error are not covered.
    """
    root = LineTree(line)
    result = _Positions(root)
    stack: list[tuple[LineTree, bool]] = []
    key: str | None = None
    key_line, counted = line, start
    expect_key = False
    for match in _TOKEN.finditer(text, start):
        part = match.group()
        line += text.count("\n", counted, match.start())
        counted = match.start()
        if part == ":":
            continue
        if part == ",":
            expect_key = bool(stack) and not stack[-1][1]
            continue
        if part in "}]":
            if stack:
                stack.pop()
            if not stack:
                break
            continue
        if expect_key:
            key = _text_of(part)
            key_line, expect_key = line, False
            continue
        node = root
        if stack:
            parent, is_list = stack[-1]
            inside = parent.inside if parent.inside is not None else {}
            parent.inside = inside
            node = LineTree(line if is_list else key_line)
            step: str | int = len(inside) if is_list else (key or "")
            if step in inside:
                result.duplicates.append((str(step), key_line, inside[step].line))
            else:
                inside[step] = node
        if part in "{[":
            if len(stack) >= MAX_DEPTH:
                result.too_deep = line
                break
            stack.append((node, part == "["))
            expect_key = part == "{"
        elif not stack:
            break
    return result


def _text_of(part: str) -> str:
    """Return a key as the decoder gives it; as written if it is no JSON string."""
    try:
        return str(json.loads(part))
    except ValueError:
        return part

"""JSON and JSONL → documents. Fast where the text is right; a slower reader finds the line where it is not.

Python's own decoder takes duplicate keys, ``NaN`` and lone surrogates; all three are errors here. msgspec's, three
times as fast, refuses the last two and gives the same values, so lines of JSONL are first tried with that, many
together.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NoReturn

import msgspec

from snapshots.compile.byte_counts import count_byte
from snapshots.documents.document import MAX_DEPTH, Document, LineTree, RawValue, decode
from snapshots.problems import Problems

MAX_LINE_BYTES = 16 * 1024 * 1024
"""A line of JSONL may have this many bytes."""
_TOGETHER = 256
"""Lines of JSONL tried together."""

_SPACE = re.compile(r"[ \t\r\n]*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_LONG_INTEGER = re.compile(r"\d{4000,}")
# A token of JSON that is known to be valid, or the one at which it stops being so.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


class _DuplicateKeyError(Exception):
    """An object holds a key twice; the slower reader tells where."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _DuplicateKeyError
    return result


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number: write null or leave the key out")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant)
_LENIENT = json.JSONDecoder(parse_constant=_refuse_constant)
_USUAL_DEPTH = 4
"""Most objects are nested no deeper. Having the decoder see to that costs nothing; counting in Python does."""


def _usual_object() -> Any:
    """The type of an object of usual depth."""
    plain = str | int | float | bool | None
    value: Any = plain
    for _ in range(_USUAL_DEPTH - 1):
        value = plain | list[value] | dict[str, value]
    return dict[str, value]


_decode_usual = msgspec.json.Decoder(_usual_object()).decode
_quick_decode = msgspec.json.Decoder().decode
_encode_into = msgspec.json.Encoder().encode_into


def read_json(file: str, data: bytes, problems: Problems) -> Iterator[Document]:
    """The documents of a JSON file: one for an object, one an item for an array of objects."""
    is_list = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["
    text = decode(file, data, problems, in_version=not is_list)
    if text is None:
        return
    reader = _Reader(file, text, problems, is_list)
    yield from reader.items() if is_list else reader.whole()


def read_jsonl(file: str, data: bytes | bytearray, first_line: int, problems: Problems) -> Iterator[Document]:
    """The documents of whole lines of JSONL, the first of them line ``first_line`` (1-based) of the file."""
    begin = len(BOM_UTF8) if first_line == 1 and data.startswith(BOM_UTF8) else 0
    number, length, whole = first_line, len(data), memoryview(data)
    written = bytearray()
    while begin < length:
        lines: list[memoryview] = []
        end = begin
        while end < length and len(lines) < _TOGETHER:
            line_end = data.find(b"\n", end)
            if line_end < 0:
                line_end = length
            lines.append(whole[end:line_end])
            end = line_end + 1
        objects = _read_together(lines, data, begin, end, written)
        if objects is not None:
            yield from map(Document, objects, count(number))
        else:
            for at, line in enumerate(lines, number):
                yield from _read_line(file, bytes(line), at, problems)
        begin, number = end, number + len(lines)


def _read_together(
    lines: list[memoryview], data: bytes | bytearray, begin: int, end: int, written: bytearray
) -> list[dict[str, Any]] | None:
    """The objects on lines in which nothing is wrong; ``None`` where one has to be looked at by itself.

    The lines are those of ``data`` from ``begin`` to ``end``; ``written`` is room for what was read, as JSON again.
    """
    if max(map(len, lines)) > MAX_LINE_BYTES:
        return None
    try:
        objects = _objects(lines)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if objects is None:
        return None
    # Every key has a colon after it, and all other colons are inside texts: where there are more than in what was read,
    # a key was there twice. Only an escaped colon (\u003a) could make up for one that was lost.
    if data.find(b"\\", begin, end) >= 0 and data.find(b"\\u003", begin, end) >= 0:
        return None
    _encode_into(objects, written)
    return objects if count_byte(written, b":", 0, len(written)) == count_byte(data, b":", begin, end) else None


def _objects(lines: list[memoryview]) -> list[dict[str, Any]] | None:
    """What stands on each line; ``None`` where that is not an object, or nested too deep. Raises what msgspec does."""
    objects: list[dict[str, Any]]
    try:
        objects = list(map(_decode_usual, lines))
    except msgspec.ValidationError:
        objects = list(map(_quick_decode, lines))
        if any(type(values) is not dict or _deeper_than(values, MAX_DEPTH) for values in objects):
            return None
    return objects


def _read_line(file: str, line: bytes, number: int, problems: Problems) -> Iterator[Document]:
    """The document of one line, where it has one."""
    if len(line) > MAX_LINE_BYTES:
        message = f"the line has {len(line):,} bytes; at most {MAX_LINE_BYTES:,} are read"
        problems.error(file, number, "too-large", message, in_version=True)
        return
    quick = _read_together([memoryview(line)], line, 0, len(line), bytearray())
    if quick is not None:
        yield Document(quick[0], number)
        return
    try:
        text = line.decode()
        values = _DECODER.decode(text)
    except _DuplicateKeyError:
        _bad_line(file, line, number, _DuplicateKeyError(), problems)
        rest = _last_keys_win(text)
        if rest is not None:
            yield Document(rest, number, broken=True)
        return
    except (ValueError, RecursionError) as error:
        if line.strip():
            _bad_line(file, line, number, error, problems)
        return
    if type(values) is not dict:
        message = f"expected an object on each line, got {_describe(values)}"
        problems.error(file, number, "no-mapping", message, in_version=True)
        return
    complaint = _check(text, values)
    if complaint is not None:
        problems.error(file, number, complaint[0], complaint[1], in_version=True)
        return
    yield Document(values, number)


def _last_keys_win(text: str) -> dict[str, Any] | None:
    """An object with duplicate keys as other programs read it, to check the rest of it; ``None`` where that fails."""
    try:
        values = _LENIENT.decode(text)
    except (ValueError, RecursionError):
        return None
    return values if type(values) is dict and _check(text, values) is None else None


def _bad_line(file: str, line: bytes, number: int, error: Exception, problems: Problems) -> None:
    if isinstance(error, UnicodeDecodeError):
        decode(file, line, problems, first_line=number)
    elif isinstance(error, _DuplicateKeyError):
        positions = _positions(line.decode(), 0, number)
        for key, _, _ in positions.duplicates:
            problems.error(file, number, "duplicate-key", f"the key {key!r} is there twice", in_version=True)
        if positions.too_deep is not None:
            problems.error(file, number, "too-deep", _TOO_DEEP, in_version=True)
    else:
        kind, message = _explain(error)
        problems.error(file, number, kind, message, in_version=True)


def _explain(error: Exception) -> tuple[str, str]:
    """(kind, message) of what the decoder raised."""
    if isinstance(error, RecursionError):
        return "too-deep", _TOO_DEEP
    if isinstance(error, json.JSONDecodeError):
        error = _after_comma(error)
        message = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        return "syntax", f"invalid JSON: {message} (column {error.colno})"
    if "int string conversion" in str(error) or "4300" in str(error):
        return "syntax", "invalid JSON: an integer of more than 4,300 digits"
    return "syntax", f"invalid JSON: {error}"


def _after_comma(error: json.JSONDecodeError) -> json.JSONDecodeError:
    """The error at what follows a comma that nothing should follow, whichever of the two the decoder names.

    Python 3.13 names the comma, earlier versions what follows.
    """
    text, stop = error.doc, error.pos
    if error.msg.startswith("Illegal trailing comma"):
        stop = _end_of_space(text, stop + 1)
    if text[stop : stop + 1] not in ("}", "]") or not text[:stop].rstrip(" \t\r\n").endswith(","):
        return error
    return json.JSONDecodeError(f"a comma stands before '{text[stop]}'", text, stop)


_TOO_DEEP = f"objects and arrays are nested more than {MAX_DEPTH} deep"


class _Reader:
    """Reads a JSON file that is one object, or an array of them."""

    def __init__(self, file: str, text: str, problems: Problems, is_list: bool) -> None:
        self._file, self._text, self._problems, self._is_list = file, text, problems, is_list
        self._counted, self._line = 0, 1

    def whole(self) -> Iterator[Document]:
        start = _end_of_space(self._text, 0)
        if start == len(self._text):
            self._report(1, "empty", "the file says nothing: write an object, or remove it")
            return
        read = self._value(start, None)
        if read is None:
            return
        document, end = read
        rest = _end_of_space(self._text, end)
        if rest < len(self._text):
            self._report(
                self._line_at(rest), "syntax", "invalid JSON: something follows the object; for many, write an array"
            )
        elif document is not None:
            yield document

    def items(self) -> Iterator[Document]:
        text = self._text
        here = _end_of_space(text, text.index("[") + 1)
        item = 0
        if text[here : here + 1] == "]":
            here += 1
        else:
            while True:
                read = self._value(here, item)
                if read is None:
                    return
                document, here = read
                if document is not None:
                    yield document
                item += 1
                here = _end_of_space(text, here)
                mark = text[here : here + 1]
                if mark not in (",", "]") or not mark:
                    self._report(
                        self._line_at(here), "syntax", "invalid JSON: expecting ',' or ']' after an item of the array"
                    )
                    return
                here = _end_of_space(text, here + 1)
                if mark == "]":
                    break
        if _end_of_space(text, here) < len(text):
            self._report(self._line_at(here), "syntax", "invalid JSON: something follows the array")

    def _value(self, start: int, item: int | None) -> tuple[Document | None, int] | None:
        """The value that begins at ``start`` as a document, and where it ends; ``None`` when reading cannot go on."""
        line = self._line_at(start)
        try:
            values, end = _DECODER.raw_decode(self._text, start)
        except _DuplicateKeyError:
            positions = _positions(self._text, start, line)
            for key, at, before in positions.duplicates:
                message = f"the key {key!r} is there twice: first on line {before}"
                self._problems.error(self._file, at, "duplicate-key", message, in_version=True)
            if positions.end is None:
                self._report(line, "syntax", "invalid JSON after this line")
                return None
            rest = _last_keys_win(self._text[start : positions.end])
            if rest is None:
                return None, positions.end
            return Document(rest, line, None, item, broken=True, lines=positions.lines), positions.end
        except RecursionError:
            deep = _positions(self._text, start, line).too_deep
            self._report(line if deep is None else deep, "too-deep", _TOO_DEEP)
            return None
        except json.JSONDecodeError as error:
            self._report(_after_comma(error).lineno, *_explain(error))
            return None
        except ValueError as error:
            self._report(self._line_of_number(start, line), *_explain(error))
            return None
        if type(values) is not dict:
            message = f"expected an object, got {_describe(values)}"
            self._problems.error(self._file, line, "no-mapping", message, in_version=True)
            return None, end
        text = self._text
        complaint = _check(text if item is None else text[start:end], values)
        document = Document(values, line, None, item, False, lambda: _positions(text, start, line).lines)
        if complaint is not None:
            kind, message, path = complaint
            self._problems.error(self._file, document.line_of(*path), kind, message, in_version=True)
            return None, end
        return document, end

    def _line_of_number(self, start: int, line: int) -> int:
        """The line of the number that the decoder refused: NaN, Infinity or an integer without end."""
        for match in _TOKEN.finditer(self._text, start):
            if match.group().lstrip("-") in ("NaN", "Infinity") or _LONG_INTEGER.match(match.group().lstrip("-")):
                return line + self._text.count("\n", start, match.start())
        return line

    def _line_at(self, position: int) -> int:
        """The line of a position; positions are asked for in ascending order."""
        self._line += self._text.count("\n", self._counted, position)
        self._counted = position
        return self._line

    def _report(self, line: int, kind: str, message: str) -> None:
        self._problems.error(self._file, line, kind, message, in_version=not self._is_list)


def _end_of_space(text: str, start: int) -> int:
    found = _SPACE.match(text, start)
    return found.end() if found else start


def _check(text: str, values: dict[str, Any]) -> tuple[str, str, tuple[str | int, ...]] | None:
    """What is wrong with values that the decoder took: (kind, message, path to it)."""
    for key, value in values.items():
        if isinstance(value, (dict, list)) and _deeper_than(value, MAX_DEPTH - 1):
            return "too-deep", _TOO_DEEP, (key,)
    if "\\u" in text and _SURROGATE.search(text):
        path = _lone_surrogate(values)
        if path is not None:
            return "encoding", "half of a surrogate pair (\\ud800 to \\udfff) alone is no character: remove it", path
    return None


def _deeper_than(value: dict[str, Any] | list[Any], limit: int) -> bool:
    if limit == 0:
        return True
    inside = value.values() if isinstance(value, dict) else value
    return any(_deeper_than(item, limit - 1) for item in inside if type(item) in (dict, list))


def _lone_surrogate(value: object) -> tuple[str | int, ...] | None:
    """The path to the first text or key that holds half of a surrogate pair. The value's depth is bounded."""
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
    """Where the parts of one JSON value stand."""

    lines: LineTree
    duplicates: list[tuple[str, int, int]] = field(default_factory=list)
    """(key, its line, the line it is on first)."""
    too_deep: int | None = None
    """The line on which nesting exceeds the bound."""
    end: int | None = None
    """Just after the value; ``None`` where it does not end."""


def _positions(text: str, start: int, line: int) -> _Positions:
    """The lines of everything inside the value at ``start``, which is on line ``line``.

    The value is taken to be valid; where it is not, what comes after is not covered.
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
                result.end = match.end()
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
            result.end = match.end()
            break
    return result


def _text_of(part: str) -> str:
    """A key as the decoder gives it; as written where it is no JSON string."""
    try:
        return str(json.loads(part))
    except ValueError:
        return part

"""Read the values of large JSON, or of JSONL, one after the other in little memory."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from snapshots.importers.losses import Unreadable

MAX_ITEM = 1 << 28
"""Characters of one item, such as an entry; bytes of a line."""

_CHUNK = 1 << 20
_SPACE = re.compile(r"[ \t\r\n]*")
_GOES_ON = ("", ".", "e", "E", "+", "-")
"""The texts after a number with which it may go on, at the end of the text read so far."""
_decode = json.JSONDecoder().raw_decode


def members(path: Path) -> Iterator[tuple[str, Any]]:
    """Return (key, value) of the members of a JSON object, and of an array that a member is, each item.

    The items of a file that is an array itself have an empty key. Raises ``Unreadable``, with file and line.
    """
    with path.open("rb") as file:
        yield from _Items(path.name, file).members()


def lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Return (number, object) of every line of a JSONL file. Raises ``Unreadable``, with file and line."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_ITEM + 1):
            number += 1
            if len(line) > MAX_ITEM:
                raise Unreadable(f"{path.name}:{number}: the line has more than {MAX_ITEM:,} bytes.")
            if line.strip():
                yield number, _object(line.strip(), path.name, number)


def document(path: Path) -> Any:
    """Return a small JSON file whole. Raises ``Unreadable``, with file and line."""
    if path.stat().st_size > MAX_ITEM:
        raise Unreadable(f"{path.name}: the file has more than {MAX_ITEM:,} bytes.")
    return _read(path.read_bytes(), path.name, 1)


def _object(line: bytes, name: str, number: int) -> dict[str, Any]:
    value = _read(line, name, number)
    if not isinstance(value, dict):
        raise Unreadable(f"{name}:{number}: one object a line is expected.")
    return value


def _read(data: bytes, name: str, number: int) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        raise Unreadable(f"{name}:{number + error.lineno - 1}: broken JSON: {error.msg}. Export again.") from None
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{name}:{number}: broken JSON: {error}. Export again.") from None


class _Items:
    """Reads a JSON file in chunks: ``_text`` is the part at hand, ``_at`` the place reached in it."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        self._name, self._file = name, file
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._text, self._at, self._line, self._ended = "", 0, 1, False

    def members(self) -> Iterator[tuple[str, Any]]:
        mark = self._mark()
        if mark == "[":
            for value in self._array():
                yield "", value
        elif mark == "{":
            yield from self._object()
        else:
            self._fail("an object or an array is expected")
        if self._mark():
            self._fail("something follows the end")

    def _object(self) -> Iterator[tuple[str, Any]]:
        self._at += 1
        while self._mark() != "}":
            key = self._value()
            if not isinstance(key, str):
                self._fail("a key in quotes is expected")
            self._take(":")
            if self._mark() == "[":
                for value in self._array():
                    yield key, value
            else:
                yield key, self._value()
            if self._mark() == ",":
                self._at += 1
            elif self._mark() != "}":
                self._fail("a comma or } is expected")
        self._at += 1

    def _array(self) -> Iterator[Any]:
        self._at += 1
        while self._mark() != "]":
            yield self._value()
            if self._mark() == ",":
                self._at += 1
            elif self._mark() != "]":
                self._fail("a comma or ] is expected")
        self._at += 1

    def _take(self, mark: str) -> None:
        if self._mark() != mark:
            self._fail(f"{mark} is expected")
        self._at += 1

    def _mark(self) -> str:
        """Return the next character that is no white space; an empty text at the end."""
        while True:
            found = _SPACE.match(self._text, self._at)
            self._at = self._at if found is None else found.end()
            if self._at < len(self._text) or self._ended:
                return self._text[self._at : self._at + 1]
            self._fill()

    def _value(self) -> Any:
        self._mark()
        while True:
            try:
                value, end = _decode(self._text, self._at)
            except RecursionError:
                self._fail("objects and arrays are nested too deep")
            except ValueError as error:
                if self._ended:
                    at = error.pos if isinstance(error, json.JSONDecodeError) else self._at
                    self._fail(error.msg if isinstance(error, json.JSONDecodeError) else str(error), at)
            else:
                if self._text[end : end + 1] not in _GOES_ON or self._ended:
                    self._at = end
                    return value
            if len(self._text) - self._at > MAX_ITEM:
                self._fail(f"a value that cannot be read, or has more than {MAX_ITEM:,} characters")
            self._fill()

    def _fill(self) -> None:
        """Read as much again as is at hand, so that a long value is not gone through often."""
        self._line += self._text.count("\n", 0, self._at)
        self._text, self._at = self._text[self._at :], 0
        data = self._file.read(max(_CHUNK, len(self._text)))
        try:
            self._text += self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            line = self._line + self._text.count("\n") + data.count(b"\n", 0, error.start)
            raise Unreadable(f"{self._name}:{line}: not valid UTF-8. Export again.") from None
        self._ended = not data

    def _fail(self, reason: str, at: int | None = None) -> NoReturn:
        line = self._line + self._text.count("\n", 0, self._at if at is None else at)
        raise Unreadable(f"{self._name}:{line}: broken JSON: {reason}. Export again.")

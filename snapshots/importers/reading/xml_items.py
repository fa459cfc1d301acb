"""Read the elements of one level of large XML one after the other in little memory; custom entities are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from xml.parsers import expat

import msgspec

from snapshots.importers.losses import Unreadable

MAX_ITEM = 1 << 26
"""Characters in one element of the level."""
MAX_DEPTH = 50

_CHUNK = 1 << 18
_CONTROL = bytes({*range(32)} - {9, 10, 13})
_ENTITIES = "it declares entities of its own, which no export does, so it is not read"


class Element(msgspec.Struct):
    """An element without what stands around it. Names are as written, prefix included."""

    name: str
    line: int
    attributes: dict[str, str]
    parts: list[str] = []
    children: list[Element] = []

    @property
    def text(self) -> str:
        return "".join(self.parts)

    def first(self, name: str) -> str:
        """Return the text of the first child of this name, without white space around it; empty if there is none."""
        return next((child.text.strip() for child in self.children if child.name == name), "")

    def every(self, name: str) -> Iterator[Element]:
        """Return the children of this name."""
        return (child for child in self.children if child.name == name)


def elements(path: Path, level: int) -> Iterator[Element]:
    """Return the elements ``level`` below the outermost one, such as 2 for the items of an RSS channel.

    Raises ``Unreadable``, with file and line, for broken XML, entities and elements without end. Control characters,
    which XML does not allow but exports have, are left out.
    """
    with path.open("rb") as file:
        yield from _Reader(path.name, level).read(file)


class _Reader:
    def __init__(self, name: str, level: int) -> None:
        self._name, self._level = name, level
        self._open: list[Element] = []
        self._depth, self._size = 0, 0
        self._done: list[Element] = []
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.EntityDeclHandler = self._entity

    def read(self, file: BinaryIO) -> Iterator[Element]:
        wide = file.read(2) in (b"\xff\xfe", b"\xfe\xff")
        file.seek(0)
        while True:
            data = file.read(_CHUNK)
            try:
                self._parser.Parse(data if wide else data.translate(None, _CONTROL), not data)
            except expat.ExpatError as error:
                reason = expat.ErrorString(error.code)
                raise Unreadable(f"{self._name}:{error.lineno}: broken XML: {reason}. Export again.") from None
            yield from self._done
            self._done.clear()
            if not data:
                return

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if self._depth >= self._level:
            element = Element(name, self._parser.CurrentLineNumber, attributes)
            if self._open:
                self._open[-1].children.append(element)
            self._open.append(element)
            self._count(len(name) + 100)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._fail(f"elements are nested more than {MAX_DEPTH} deep")

    def _end(self, _name: str) -> None:
        self._depth -= 1
        if self._open:
            element = self._open.pop()
            if not self._open:
                self._done.append(element)
                self._size = 0

    def _text(self, text: str) -> None:
        if self._open:
            self._open[-1].parts.append(text)
            self._count(len(text))

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > MAX_ITEM:
            self._fail(f"an element has more than {MAX_ITEM:,} characters")

    def _entity(self, *_declared: object) -> None:
        self._fail(_ENTITIES)

    def _fail(self, reason: str) -> None:
        raise Unreadable(f"{self._name}:{self._parser.CurrentLineNumber}: {reason}.")

"""Read the files of a site's collections, each once: the values of their keys, their headings, the tags in their texts.

Where there are many, every core reads some of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote

import msgspec

from snapshots.adoption.folders import is_markdown
from snapshots.adoption.reading import bytes_of, documents_in
from snapshots.adoption.shortcodes import tags_in
from snapshots.adoption.site import Site
from snapshots.build.workers import BuildWorkers
from snapshots.compile.assets import is_relative_asset
from snapshots.documents.document import RawValue, is_null
from snapshots.documents.headings import first_heading
from snapshots.problems import ParquetryError

PICTURE: Final = re.compile(r"\S+\.(?:png|jpe?g|gif|webp|avif|svg)(?:\?\S*)?", re.IGNORECASE)
"""The address of a picture."""
_PIECE: Final = 500
"""Files that are read as one piece of work."""
_MANY: Final = 3_000
"""Files from which on starting processes costs less than it saves."""
_SHORT: Final = 16
"""Characters of a text that many files have, such as a tag or a day."""


class Seen(msgspec.Struct):
    """What the documents of a collection hold, without their texts."""

    values: dict[str, list[RawValue]] = msgspec.field(default_factory=dict)
    """By key, in the order of the documents."""
    count: int = 0
    headings: int = 0
    """Texts that have a heading, and no title above."""
    has_body: bool = False
    has_items: bool = False
    all_keyed: bool = True
    all_texts: bool = True
    absent: set[str] = msgspec.field(default_factory=set)
    """Relative addresses of pictures that lead from their file to none."""
    tags: set[str] = msgspec.field(default_factory=set)
    """The names of the generator's tags that stand in the texts."""

    def add(self, following: Seen) -> None:
        """Add what the documents after these hold."""
        for key, values in following.values.items():
            self.values.setdefault(key, []).extend(values)
        self.count += following.count
        self.headings += following.headings
        self.has_body = self.has_body or following.has_body
        self.has_items = self.has_items or following.has_items
        self.all_keyed = self.all_keyed and following.all_keyed
        self.all_texts = self.all_texts and following.all_texts
        self.absent |= following.absent
        self.tags |= following.tags


class _Piece(NamedTuple):
    """Some files of a collection."""

    number: int
    """Of the collection."""
    at: str | None
    """``from`` of the API."""
    files: list[str]


def read_once(root: Path, site: Site) -> list[Seen]:
    """Return what the files of each collection of the site at ``root`` hold."""
    pieces = list(_pieces(site))
    many = sum(len(piece.files) for piece in pieces) >= _MANY
    arguments = (root, frozenset(site.tags), site.titles_by_heading)
    with BuildWorkers(_prepare, arguments) as workers:
        if workers.share(len(pieces), pays=many):
            read = workers.run(_read_in_process, pieces, lambda piece: len(piece.files), lambda _done, _total: None)
        else:
            read = [*map(_Reader(*arguments).read, pieces)]
    seen = [Seen() for _ in site.collections]
    for piece, found in zip(pieces, read, strict=True):
        seen[piece.number].add(found)
    return seen


def _pieces(site: Site) -> Iterator[_Piece]:
    for number, collection in enumerate(site.collections):
        for start in range(0, len(collection.files), _PIECE):
            yield _Piece(number, collection.collection, collection.files[start : start + _PIECE])


class _Reader:
    """Reads pieces of one site; lives in each process at work."""

    def __init__(self, root: Path, tags: frozenset[str], headings: bool) -> None:
        """``headings``: they are the titles of the texts whose front matter has none."""
        self._root, self._tags, self._headings = root, tags, headings

    def read(self, piece: _Piece) -> Seen:
        """Return what the documents of a piece hold. Files that cannot be read are left to the check to report."""
        seen, shared = Seen(), dict[tuple[type, str], str]()
        for file in piece.files:
            data = bytes_of(self._root, file)
            if data is None:
                continue
            if is_markdown(file):
                seen.tags |= tags_in(data, self._tags - seen.tags)
            for document in documents_in(file, data, piece.at):
                seen.count += 1
                seen.has_body = seen.has_body or document.body is not None
                if self._headings and document.body is not None and is_null(document.values.get("title")):
                    seen.headings += first_heading(document.body) is not None
                seen.has_items = seen.has_items or document.item is not None
                seen.all_keyed = seen.all_keyed and document.key is not None
                seen.all_texts = seen.all_texts and isinstance(document.value, str)
                seen.absent.update(_absent(self._root, file, document.values.values()))
                for key, value in document.values.items():
                    seen.values.setdefault(key, []).append(_shared(value, shared))
        return seen


def _absent(root: Path, file: str, values: Iterable[RawValue]) -> Iterator[str]:
    """Return the addresses of pictures, relative to a file, that lead to no file."""
    for value in values:
        if isinstance(value, dict):
            yield from _absent(root, file, value.values())
        elif isinstance(value, list):
            yield from _absent(root, file, value)
        elif (
            isinstance(value, str)
            and PICTURE.fullmatch(value)
            and is_relative_asset(value)
            and not ((root / file).parent / unquote(value.partition("?")[0])).is_file()
        ):
            yield str(value)


def _shared(value: RawValue, shared: dict[tuple[type, str], str]) -> RawValue:
    """Return a value with the same objects for its equal short texts, of which large sites have very many."""
    if isinstance(value, list):
        return [_shared(one, shared) for one in value]
    if isinstance(value, str) and len(value) <= _SHORT:
        return shared.setdefault((type(value), value), value)
    return value


_reader: _Reader | None = None


def _prepare(root: Path, tags: frozenset[str], headings: bool) -> None:
    global _reader  # noqa: PLW0603 - a pool's processes have nowhere else to keep what all pieces share
    _reader = _Reader(root, tags, headings)


def _read_in_process(piece: _Piece) -> Seen:
    if _reader is None:
        raise ParquetryError(
            "a process that reads files was not prepared: this is a fault of the program, please report it"
        )
    return _reader.read(piece)

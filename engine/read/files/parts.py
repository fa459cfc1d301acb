"""Name the parts of a version in the cache, and the tables over them, by what each is made from according to the
manifest.

A part holds a segment of an API's entries, in all languages. Its name is the digest of all that decides its content, so
that versions share the parts they have in common (design section 4). The tables of an API are made of all its parts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

import msgspec

from engine.read.files.paths import LAYOUT
from snapshots.columns import FileKind, indexed_fields, stored_form
from snapshots.model import Api
from snapshots.store.manifest import DataFile, Manifest

NAME_BYTES: Final = 16
"""Bytes of a name, which is written in hexadecimal."""


class PartSource(msgspec.Struct, frozen=True):
    """A data file of a part."""

    lang: str
    data: DataFile
    index: DataFile | None
    """The search index of its rows; ``None`` where not all of the API's files have one, as in older snapshots."""


class Part(msgspec.Struct, frozen=True):
    """The data files of a segment, in the order of the API's languages. The rows of the part are theirs, file by
    file."""

    api: Api
    main: str
    """The workspace's main language."""
    windows: tuple[str, ...]
    """The languages whose windows rows in the main language carry."""
    segment: str
    files: tuple[PartSource, ...]
    """One at least."""

    @property
    def name(self) -> str:
        """The digest of what decides the part's content."""
        facts = (
            self.api.uid,
            self.segment,
            stored_form(self.api.fields),
            [(one.lang, one.data.sha256, one.data.rows, one.index and one.index.sha256) for one in self.files],
            [(one.lang, windows_of(self.main, self.windows, one.lang)) for one in self.files],
        )
        return _digest(facts)

    @property
    def token(self) -> bytes:
        """The bytes that the part's bodies file and search file begin with."""
        return bytes.fromhex(self.name)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(one.data.rows for one in self.files)

    @property
    def is_indexed(self) -> bool:
        """Whether the part's texts have a search index."""
        return all(one.index is not None for one in self.files)

    def ranges(self) -> Iterator[tuple[PartSource, range]]:
        """The files with their rows' positions in the part."""
        end = 0
        for one in self.files:
            first, end = end, end + one.data.rows
            yield one, range(first, end)


class ApiParts(msgspec.Struct, frozen=True):
    """The parts of an API, by segment. The rows of the API are those of its tables, language by language."""

    api: Api
    main: str
    languages: tuple[str, ...]
    """The API's languages."""
    parts: tuple[Part, ...]

    @property
    def name(self) -> str:
        """The digest of what decides the tables' content."""
        return _digest([part.name for part in self.parts])

    @property
    def token(self) -> bytes:
        """The bytes that the file beside the tables begins with."""
        return bytes.fromhex(self.name)

    @property
    def is_indexed(self) -> bool:
        """Whether the API's texts have a search index."""
        return all(part.is_indexed for part in self.parts)

    @property
    def has_vocabulary(self) -> bool:
        """Whether the tables have a vocabulary beside them: that of one part is the part's own."""
        return self.is_indexed and len(self.parts) > 1 and bool(indexed_fields(self.api))

    def windows_of(self, lang: str) -> tuple[str, ...]:
        """The languages whose windows the rows in a language carry."""
        return windows_of(self.main, self.languages, lang)

    def rows_of(self, lang: str) -> int:
        """The number of rows in a language."""
        return sum(one.data.rows for part in self.parts for one in part.files if one.lang == lang)


VersionParts: TypeAlias = Mapping[str, ApiParts]
"""The parts of a version by the ``uid`` of their API."""


def windows_of(main: str, languages: Iterable[str], lang: str) -> tuple[str, ...]:
    """Return the languages whose windows rows in a language carry: fallback is to the main one's rows only."""
    return tuple(other for other in languages if other != lang) if lang == main else ()


def every_part(parts: VersionParts) -> list[Part]:
    """Return the parts of all APIs."""
    return [part for of_api in parts.values() for part in of_api.parts]


def names_of(parts: VersionParts) -> list[str]:
    """Return the names of all that is made of a version."""
    return [
        name
        for of_api in parts.values()
        if of_api.parts
        for name in (of_api.name, *(part.name for part in of_api.parts))
    ]


def _digest(facts: object) -> str:
    return hashlib.sha256(msgspec.json.encode((LAYOUT, facts))).hexdigest()[: 2 * NAME_BYTES]


def parts_of(manifest: Manifest) -> VersionParts:
    """Return the parts of a version; an API without rows has none."""
    data: dict[tuple[str, str], dict[str, DataFile]] = {}
    indexes: dict[tuple[str, str], dict[str, DataFile]] = {}
    of_kind = {FileKind.PUBLISHED: data, FileKind.SEARCH: indexes}
    for file in manifest.files:
        if file.kind in of_kind and (file.rows or file.kind is FileKind.SEARCH):
            of_kind[file.kind].setdefault((file.api, file.segment), {})[file.lang] = file
    workspace = manifest.workspace
    parts: dict[str, ApiParts] = {}
    for api in workspace.apis:
        languages = workspace.languages_of(api)
        segments = sorted(segment for uid, segment in data if uid == api.uid)
        is_indexed = all(
            data[api.uid, segment].keys() <= indexes.get((api.uid, segment), {}).keys() for segment in segments
        )
        made = []
        for segment in segments:
            there, indexed = data[api.uid, segment], indexes.get((api.uid, segment), {})
            files = tuple(
                PartSource(lang, there[lang], indexed[lang] if is_indexed else None)
                for lang in languages
                if lang in there
            )
            if files:
                made.append(Part(api, workspace.main_language, languages, segment, files))
        parts[api.uid] = ApiParts(api, workspace.main_language, languages, tuple(made))
    return parts

"""Name the parts of a version in the cache, by what each is made from according to the manifest.

A part holds one data file, or several small ones of an API. Its name is the digest of all that decides its content, so
that versions share the parts they have in common (design section 4).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

import msgspec

from engine.read.files.paths import LAYOUT
from snapshots.columns import FileKind, stored_form
from snapshots.model import Api
from snapshots.store.manifest import DataFile, Manifest

NAME_BYTES: Final = 16
"""Bytes of a part's name, which is written in hexadecimal."""
SMALL_ROWS: Final = 4096
"""A data file of fewer rows shares its part: a part's three files take more work to make and to open than its rows."""
LANGUAGES_TOGETHER: Final = 16
"""The small files of so many languages, counted from the first, are one part. One changed word has them made again."""


class PartSource(msgspec.Struct, frozen=True):
    """A data file of a part."""

    lang: str
    data: DataFile
    index: DataFile | None
    """The search index of its rows; ``None`` where not all of the API's files have one, as in older snapshots."""


class Part(msgspec.Struct, frozen=True):
    """Data files of an API, in the order of the API's languages. The rows of the part are theirs, file by file."""

    api: Api
    main: str
    """The workspace's main language."""
    windows: tuple[str, ...]
    """The languages whose windows rows in the main language carry."""
    files: tuple[PartSource, ...]
    """One at least."""

    @property
    def name(self) -> str:
        """The digest of what decides the part's content."""
        facts = (
            LAYOUT,
            self.api.uid,
            stored_form(self.api.fields),
            [(one.lang, one.data.sha256, one.data.rows, one.index and one.index.sha256) for one in self.files],
            [(one.lang, self.windows_of(one.lang)) for one in self.files],
        )
        return hashlib.sha256(msgspec.json.encode(facts)).hexdigest()[: 2 * NAME_BYTES]

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

    def windows_of(self, lang: str) -> tuple[str, ...]:
        """The languages whose windows the rows in a language carry: fallback is to the main one's rows only."""
        return tuple(other for other in self.windows if other != lang) if lang == self.main else ()

    def ranges(self) -> Iterator[tuple[PartSource, range]]:
        """The files with their rows' positions in the part."""
        end = 0
        for one in self.files:
            first, end = end, end + one.data.rows
            yield one, range(first, end)


def parts_of(manifest: Manifest) -> dict[str, tuple[Part, ...]]:
    """Return the parts of a version by the ``uid`` of their API; an API without rows has none."""
    files = {(file.api, file.lang, file.kind): file for file in manifest.files}
    workspace = manifest.workspace
    parts: dict[str, tuple[Part, ...]] = {}
    for api in workspace.apis:
        languages = workspace.languages_of(api)
        data = {lang: files.get((api.uid, lang, FileKind.PUBLISHED)) for lang in languages}
        indexes = {lang: files.get((api.uid, lang, FileKind.SEARCH)) for lang in languages}
        is_indexed = all(indexes[lang] is not None for lang, file in data.items() if file is not None and file.rows)
        groups: dict[tuple[bool, int], list[PartSource]] = {}
        for number, (lang, file) in enumerate(data.items()):
            if file is not None and file.rows:
                is_small = file.rows < SMALL_ROWS
                group = (is_small, number // LANGUAGES_TOGETHER if is_small else number)
                groups.setdefault(group, []).append(PartSource(lang, file, indexes[lang] if is_indexed else None))
        parts[api.uid] = tuple(Part(api, workspace.main_language, languages, tuple(group)) for group in groups.values())
    return parts

"""Tell from the versions in a store which of two language versions of an entry changed later."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from snapshots.columns import DIGEST_COLUMN
from snapshots.compile.rows import row_digest
from snapshots.data_files.picked_rows import rows_at
from snapshots.data_files.segments import numbers_of
from snapshots.data_files.stored_columns import lifted, stored_as
from snapshots.problems import ParquetryError
from snapshots.store.manifest import DIGESTS_SINCE, DataFile, Manifest
from snapshots.store.store import WorkspaceStore
from snapshots.translations.lagging import Marks, Pairs

Ints: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"

VERSIONS: Final = 100
"""The versions that are looked at, the newest ones."""


class VersionHistory(msgspec.Struct):
    """The contents of the versions in a store. Those in a bucket are not fetched for this, and tell nothing.

    Segments that are as they are now, or as in the version after, are not read.
    """

    workspace_store: WorkspaceStore
    main_language: str
    contents: Mapping[tuple[str, str], Mapping[str, str]]
    """``DataFile.content`` of the published files of now by segment, by the ``uid`` of the API and language."""
    _manifests: list[Manifest] | None = None

    def are_later(self, pairs: Pairs) -> Marks:
        """Return, of each pair, whether its original came to say what it says in a later version than its translation.

        What is in no version yet is later than all that is.
        """
        later = np.zeros(len(pairs.originals), dtype=bool)
        both = ~later
        numbers = pairs.api.index["number"].to_numpy()[pairs.originals]
        order = np.argsort(numbers)
        numbers = numbers[order]
        uid, languages = pairs.api.api.uid, (self.main_language, pairs.lang)
        known = _joined(*(self.contents.get((uid, lang), {}) for lang in languages))
        for manifest in self._known_manifests():
            api = manifest.workspace.api_by_uid(uid)
            if api is None:
                break
            files = [{file.segment: file for file in manifest.files_of(api, lang)} for lang in languages]
            there = _joined(*({segment: file.content for segment, file in some.items()} for some in files))
            if not known.keys() <= there.keys():
                both &= self._are_in(there, numbers, order)
            try:
                for segment in there:
                    if known.get(segment) != there[segment]:
                        mine = _in_segment(segment, numbers, order)
                        mine = mine[both[mine]]
                        original, translation = (
                            self._are_the_same(pairs.api.index, rows[mine], manifest, some.get(segment))
                            for rows, some in zip((pairs.originals, pairs.translations), files, strict=True)
                        )
                        later[mine] |= ~original & translation
                        both[mine] = original & translation
            except (OSError, pa.ArrowException):
                break
            known = there
            if not both.any():
                break
        return later

    @staticmethod
    def _are_in(segments: Iterable[str], numbers: Ints, order: Ints) -> Marks:
        """Return which pairs are in one of the segments."""
        found = np.zeros(len(order), dtype=bool)
        for segment in segments:
            found[_in_segment(segment, numbers, order)] = True
        return found

    def _are_the_same(self, index: pa.Table, rows: Ints, manifest: Manifest, file: DataFile | None) -> Marks:
        """Return whether a data file of a version has each of some rows of the present index, as it is there."""
        if file is None or not len(rows):
            return np.zeros(len(rows), dtype=bool)
        with pq.ParquetFile(self.workspace_store.path(manifest.version, file.path), pre_buffer=False) as opened:
            read = opened.read(stored_as(_COLUMNS, opened.schema_arrow))
        present = rows_at(index.select(["id", "digest"]), rows)
        digests = np.array([row_digest(one) for one in present["digest"].to_pylist()], dtype=np.int64)
        return _rows_are(lifted(read, _COLUMNS), present["id"].combine_chunks(), digests)

    def _known_manifests(self) -> list[Manifest]:
        if self._manifests is None:
            self._manifests = []
            if self.workspace_store.bucket is None:
                try:
                    for version in self.workspace_store.versions()[:VERSIONS]:
                        manifest = self.workspace_store.manifest(version)
                        if manifest.format < DIGESTS_SINCE:
                            break
                        self._manifests.append(manifest)
                except ParquetryError:  # what is damaged is told where it is read for itself
                    pass
        return self._manifests


_COLUMNS: Final = ("id", DIGEST_COLUMN)


def _joined(original: Mapping[str, str], translation: Mapping[str, str]) -> dict[str, tuple[str | None, str | None]]:
    """Return the contents of files in two languages by segment."""
    return {segment: (original.get(segment), translation.get(segment)) for segment in {**original, **translation}}


def _in_segment(segment: str, numbers: Ints, order: Ints) -> Ints:
    """Return the positions of the entries in a segment; ``numbers`` are those of all, which ``order`` made ascend."""
    least, greatest = numbers_of(segment)
    begin = np.searchsorted(numbers, np.uint64(least))
    found: Ints = order[begin : np.searchsorted(numbers, np.uint64(greatest), side="right")]
    return found


def _rows_are(table: pa.Table, ids: pa.Array, digests: Ints) -> Marks:
    """Return whether a table has each ID with its digest."""
    at = pc.index_in(ids, value_set=table["id"].combine_chunks())
    there = np.asarray(pc.is_valid(at))
    found = np.asarray(pc.fill_null(at, 0))
    if not there.any():
        return there
    same: Marks = there & (table[DIGEST_COLUMN].to_numpy()[found] == digests)
    return same

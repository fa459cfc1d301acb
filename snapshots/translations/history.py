"""Tell from the versions in a store which of two language versions of an entry changed later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from snapshots.columns import DIGEST_COLUMN
from snapshots.compile.rows import row_digest
from snapshots.data_files.stored_columns import lifted, stored_as
from snapshots.problems import ParquetryError
from snapshots.store.manifest import DIGESTS_SINCE, DataFile, Manifest
from snapshots.store.store import WorkspaceStore
from snapshots.translations.lagging import Marks, Pairs

Ints: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"

VERSIONS: Final = 100
"""The versions that are looked at, the newest ones."""


class VersionHistory(msgspec.Struct):
    """The contents of the versions in a store. Those in a bucket are not fetched for this, and tell nothing."""

    workspace_store: WorkspaceStore
    main_language: str
    _manifests: list[Manifest] | None = None

    def are_later(self, pairs: Pairs) -> Marks:
        """Return, of each pair, whether its original came to say what it says in a later version than its translation.

        What is in no version yet is later than all that is.
        """
        later = np.zeros(len(pairs.originals), dtype=bool)
        both = ~later
        ids = pairs.api.index["id"].take(pa.array(pairs.originals)).combine_chunks()
        present = [_digests(pairs.api.index, rows) for rows in (pairs.originals, pairs.translations)]
        for before in self._files(pairs):
            original, translation = (
                _rows_are(table, ids, digests) for table, digests in zip(before, present, strict=True)
            )
            later |= both & ~original & translation
            both &= original & translation
            if not both.any():
                break
        return later

    def _files(self, pairs: Pairs) -> Iterator[tuple[pa.Table, pa.Table]]:
        """Return the IDs and digests of originals and translations in every version, the newest first; of versions in a
        row with the same files only once."""
        known: list[list[str]] | None = None
        for manifest in self._known_manifests():
            api = manifest.workspace.api_by_uid(pairs.api.api.uid)
            if api is None:
                return
            files = [manifest.files_of(api, lang) for lang in (self.main_language, pairs.lang)]
            contents = [[file.content for file in of_lang] for of_lang in files]
            if contents == known:
                continue
            known = contents
            try:
                original, translation = (self._read(manifest, of_lang) for of_lang in files)
            except (OSError, pa.ArrowException):
                return
            yield original, translation

    def _read(self, manifest: Manifest, files: Sequence[DataFile]) -> pa.Table:
        tables = [_NOTHING]
        for file in files:
            with pq.ParquetFile(self.workspace_store.path(manifest.version, file.path), pre_buffer=False) as opened:
                read = opened.read(stored_as(_NOTHING.column_names, opened.schema_arrow))
            tables.append(lifted(read, _NOTHING.column_names))
        return pa.concat_tables(tables)

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


_NOTHING: Final = pa.table({"id": pa.array([], pa.string()), DIGEST_COLUMN: pa.array([], pa.int64())})


def _digests(index: pa.Table, rows: Ints) -> Ints:
    """Return the digests of rows of an index as data files have them."""
    return np.array([row_digest(one) for one in index["digest"].take(pa.array(rows)).to_pylist()], dtype=np.int64)


def _rows_are(table: pa.Table, ids: pa.Array, digests: Ints) -> Marks:
    """Return whether a table has each ID with its digest."""
    at = pc.index_in(ids, value_set=table["id"].combine_chunks())
    there = np.asarray(pc.is_valid(at))
    found = np.asarray(pc.fill_null(at, 0))
    if not there.any():
        return there
    same: Marks = there & (table[DIGEST_COLUMN].to_numpy()[found] == digests)
    return same

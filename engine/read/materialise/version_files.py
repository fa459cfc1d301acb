"""A version's data files on the disk, read when its parts are made (design section 4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from engine.read.files.parts import PartSource
from engine.read.files.unusable import SnapshotUnusable
from snapshots.columns import DIGEST_COLUMN, Column, FileKind, own_columns, public_columns
from snapshots.data_files.stored_columns import stored_name, stored_names
from snapshots.model import Api
from snapshots.store.manifest import DataFile, Manifest


class VersionFiles(msgspec.Struct, frozen=True):
    """The directory of a version with its manifest."""

    directory: Path
    manifest: Manifest

    def path(self, file: DataFile) -> Path:
        """The path of a data file."""
        return self.directory / file.path

    def read(self, api: Api, source: PartSource, names: Sequence[str]) -> pa.Table:
        """The columns ``names`` of a data file. Raises ``SnapshotUnusable``, also where another column is missing."""
        try:
            with pq.ParquetFile(self.path(source.data), pre_buffer=False) as opened:
                there = set(stored_names(opened.schema_arrow))
                for column in (*public_columns(api), *self._own_columns(api, source)):
                    if stored_name(column.name, there) not in there and column.name != DIGEST_COLUMN:
                        raise KeyError(column.name)  # but for digests, which older files do not have
                return opened.read(list(names), use_threads=False).select(list(names))
        except (pa.ArrowException, KeyError) as error:
            raise SnapshotUnusable(
                f"Snapshot version {self.manifest.version}: {source.data.path} cannot be read: {error}. "
                "Build it again, or activate another snapshot version."
            ) from None

    def _own_columns(self, api: Api, source: PartSource) -> Iterator[Column]:
        return own_columns(self.manifest.workspace, api, source.lang, FileKind.PUBLISHED)

    def unusable(self, api: Api) -> SnapshotUnusable:
        """The error for an API whose rows are not what the manifest says."""
        rows = sum(f.rows for f in self.manifest.files if (f.api, f.kind) == (api.uid, FileKind.PUBLISHED))
        return SnapshotUnusable(
            f"Snapshot version {self.manifest.version}: the rows of {api.endpoint} do not match the manifest "
            f"({rows} rows in default order). Build it again, or activate another snapshot version."
        )

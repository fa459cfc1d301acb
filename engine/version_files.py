"""Where a version's data files are, API by API, in the order in which its cache has their rows (design section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from engine.cache_file import SnapshotUnusable
from snapshots.manifest import DataFile, Manifest
from snapshots.model import Api, Workspace


class VersionFiles(msgspec.Struct, frozen=True):
    """The directory of a version and what its manifest says of it."""

    directory: Path
    manifest: Manifest

    @property
    def workspace(self) -> Workspace:
        return self.manifest.workspace

    def of(self, api: Api) -> list[tuple[str, DataFile]]:
        """An API's files with the languages they are in, in the order of its table."""
        files = ((lang, self.manifest.file(api, lang)) for lang in self.workspace.languages_of(api))
        return [(lang, file) for lang, file in files if file is not None and file.rows]

    def path(self, file: DataFile) -> Path:
        return self.directory / file.path

    def read(self, file: DataFile, columns: Sequence[str]) -> pa.Table:
        """Some columns of a file. Raises ``SnapshotUnusable``."""
        try:
            with pq.ParquetFile(self.path(file), pre_buffer=False) as opened:
                return opened.read(list(columns), use_threads=False).select(list(columns))
        except (pa.ArrowException, KeyError) as error:
            raise SnapshotUnusable(
                f"Version {self.manifest.version}: {file.path} cannot be read: {error}. "
                "Build it again, or activate another version."
            ) from None

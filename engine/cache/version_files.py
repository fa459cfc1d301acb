"""Where a version's data files are, API by API, in the order in which its cache has their rows (design section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from engine.cache.files import SnapshotUnusable
from snapshots.columns import FileKind, columns
from snapshots.model import Api, Workspace
from snapshots.store.manifest import DataFile, Manifest


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

    def read(self, api: Api, lang: str, file: DataFile, names: Sequence[str]) -> pa.Table:
        """Some columns of a file with published versions. Raises ``SnapshotUnusable``, also when one of the others is
        not there: where several files are read together, nothing else would tell."""
        try:
            with pq.ParquetFile(self.path(file), pre_buffer=False) as opened:
                there = set(opened.schema_arrow.names)
                for column in columns(self.workspace, api, lang, FileKind.PUBLISHED):
                    if column.name not in there:
                        raise KeyError(column.name)
                return opened.read(list(names), use_threads=False).select(list(names))
        except (pa.ArrowException, KeyError) as error:
            raise SnapshotUnusable(
                f"Version {self.manifest.version}: {file.path} cannot be read: {error}. "
                "Build it again, or activate another version."
            ) from None

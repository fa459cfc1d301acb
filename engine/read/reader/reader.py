"""A snapshot version, opened: runs statements over it, and has its rows, its searches and the parts kept of lists."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Final, TypeVar, cast

import duckdb
import msgspec

from engine.read.files.data_file import files_as_table
from engine.read.files.files import OpenedVersion, open_version
from engine.read.files.parts import parts_of
from engine.read.files.paths import cache_paths
from engine.read.files.tables import VIEW_TOTALS, Table
from engine.read.files.unusable import CacheUnfit, SnapshotUnusable
from engine.read.materialise.materialise import verify_files
from engine.read.materialise.opening import opened_version
from engine.read.materialise.settings import MaterialiseSettings
from engine.read.reader.data_files import DataFiles
from engine.read.reader.kept import Kept, KeptPart, Name
from engine.read.reader.reach import Reach, Scope
from engine.read.reader.rows import Rows
from engine.read.reader.statement import (
    KEPT_ONLY,
    MEMORY,
    TIME_LIMIT,
    NotKept,
    QueryTimeout,
    Statement,
    StatementRunner,
)
from engine.read.search.search_indexes import SearchIndexes
from engine.timeline.flips import Epoch, Flips
from engine.views.counting.totals import ViewTotals
from engine.visibility import Visibility
from snapshots.columns import FileKind
from snapshots.model import ALWAYS, NEVER, Api, Workspace
from snapshots.store.manifest import Manifest

__all__ = ["Epoch", "QueryTimeout", "Reader", "ReaderSettings", "SnapshotUnusable", "open_reader"]

Kind = TypeVar("Kind", bound=KeptPart)

_numbers: Final = count(1)
_MOST_REACHES: Final = 1_000
_DAMAGED: Final = "Corrupt database file"
"""The words of DuckDB about a block that has another checksum than it was written with."""


class ReaderSettings(msgspec.Struct, frozen=True):
    """The limits of a reader and its statements."""

    time_limit: float = TIME_LIMIT
    """Seconds for all statements of one request."""
    memory: str = MEMORY
    """DuckDB's memory, its cache included, for the whole reader."""
    making: MaterialiseSettings = msgspec.field(default_factory=MaterialiseSettings)


class Reader(StatementRunner):
    """One version of a workspace. Any number of threads may run statements at the same time."""

    def __init__(
        self,
        opened: OpenedVersion,
        snapshot_dir: Path,
        manifest: Manifest,
        settings: ReaderSettings,
        kept: Kept,
    ) -> None:
        super().__init__(opened.connection, settings.time_limit)
        self.manifest: Final = manifest
        self.snapshot_dir: Final = snapshot_dir
        self._opened = opened
        self._verified: set[str] = set()
        self._apis: Final = {api.uid: api for api in manifest.workspace.apis}
        self._rows: Final = {
            api.uid: Rows(api, manifest.workspace, opened.apis[api.uid]) for api in manifest.workspace.apis
        }
        self.search: Final = SearchIndexes(opened.apis)
        self.kept: Final = kept
        self.number: Final = next(_numbers)
        """A number that no other reader of the process has."""
        self._reaches: dict[tuple[Scope, Visibility], Reach] = {}
        self._counting = threading.Lock()
        self._counted_generation = 0
        self._opening_drafts = threading.Lock()
        self._drafts: DataFiles | None = None
        self._settings = settings

    @property
    def workspace(self) -> Workspace:
        return self.manifest.workspace

    @property
    def version(self) -> str:
        return self.manifest.version

    def reach(self, scope: Scope, visibility: Visibility) -> Reach:
        """Return what requests of a scope and a language rule lead to, found once."""
        found = self._reaches.get((scope, visibility))
        if found is None:
            if len(self._reaches) >= _MOST_REACHES:  # keys came and went
                self._reaches.clear()
            found = self._reaches[scope, visibility] = Reach(self.workspace, visibility, scope)
        return found

    def _unreadable(self, statement: Statement, error: duckdb.Error) -> SnapshotUnusable | None:
        if not isinstance(error, duckdb.IOException) and _DAMAGED not in str(error):
            return None
        for api in self._opened.apis.values():
            if api.tables is not None and api.tables.is_read_by(statement.text):
                api.tables.discard()
        return SnapshotUnusable(f"The cache of snapshot version {self.version} cannot be read: {error}.")

    @property
    def is_damaged(self) -> bool:
        """Whether the cache was found damaged since the version was opened. Opening it again makes that again."""
        return any(opened.is_damaged for opened in self._opened.all_files())

    def tables(self, api: Api, languages: Iterable[str]) -> dict[str, Table]:
        """Return the tables of an API's versions by language."""
        return {lang: self._opened.tables[api.uid, lang] for lang in languages}

    def api(self, uid: str) -> Api:
        """Return the API with a ``uid``. Raises ``KeyError``."""
        return self._apis[uid]

    def rows(self, api: Api) -> Rows:
        """Return the rows of an API by position."""
        return self._rows[api.uid]

    @contextmanager
    def counted(self, views: ViewTotals) -> Iterator[None]:
        """Hold these view counts in ``VIEW_TOTALS`` for the length of the block, for one thread at a time."""
        with self._counting:
            if views.generation != self._counted_generation:
                with self._connection.cursor() as cursor:
                    cursor.register("counted", views.table())
                    cursor.execute(f"CREATE OR REPLACE TABLE {VIEW_TOTALS} AS SELECT id, total FROM counted")  # noqa: S608 - constants
                self._counted_generation = views.generation
            yield

    def part(self, name: Name, make: Callable[[], Kind], deadline: float) -> Kind:
        """Return a part of lists, made by ``make`` where it is not kept, and kept from then on. Raises what ``make``
        raises, ``QueryTimeout`` past the deadline, and ``NotKept``."""
        if deadline == KEPT_ONLY:
            part = self.kept.get(name)
            if part is None:
                raise NotKept
            return cast("Kind", part)
        left = deadline - time.monotonic()
        if left <= 0:
            raise self._over_time()
        return self.kept.obtain(name, make, left)

    def flips(self, api: Api, visibility: Visibility, deadline: float) -> Flips:
        """Return the flips of an API under a language rule, computed once and kept. Raises as ``part`` does."""
        name = (self.number, "flips", api.uid, visibility)
        return self.part(name, lambda: self.rows(api).flips(visibility), deadline)

    def epoch(self, api: Api, visibility: Visibility, now: int, deadline: float) -> Epoch:
        """The epoch that ``now`` (UTC milliseconds) is in. Raises as ``part`` does."""
        return self.flips(api, visibility, deadline).epoch(now)

    def common_epoch(self, read: Iterable[tuple[Api, Visibility]], now: int, deadline: float) -> Epoch:
        """Return the stretch of time around ``now`` (UTC milliseconds) in which nothing about the visibility in any of
        these APIs, each under a language rule, changes. Raises as ``part`` does."""
        since, until = ALWAYS, NEVER
        for api, visibility in read:
            epoch = self.epoch(api, visibility, now, deadline)
            since, until = max(since, epoch.since), min(until, epoch.until)
        return Epoch(since, until)

    def drafts(self, api: Api, lang: str) -> str | None:
        """Return the table with unpublished changes as SQL, whose files are verified once; ``None`` without any. Only
        ``draft_files`` can read it. Raises ``SnapshotUnusable``."""
        files = self.manifest.files_of(api, lang, FileKind.DRAFTS)
        if not files:
            return None
        unverified = [file for file in files if file.path not in self._verified]
        verify_files(self.snapshot_dir, unverified)
        self._verified.update(file.path for file in unverified)
        paths = [self.draft_files.path(self.snapshot_dir / file.path) for file in files]
        return files_as_table(paths, api, FileKind.DRAFTS, self.manifest)

    @property
    def draft_files(self) -> DataFiles:
        """A connection of its own for drafts, opened when it is first asked for."""
        with self._opening_drafts:
            if self._drafts is None:
                self._drafts = DataFiles(self.snapshot_dir, self._settings.memory, self._settings.time_limit)
            return self._drafts

    def close(self) -> None:
        """Close the version. No statement may be running, and none can run after."""
        super().close()
        if self._drafts is not None:
            self._drafts.close()
        self._opened.close()
        self.kept.forget(self.number)


def open_made_reader(
    snapshot_dir: Path,
    manifest: Manifest,
    cache_dir: Path,
    settings: ReaderSettings | None = None,
    kept: Kept | None = None,
) -> Reader | None:
    """Open a version for reading as ``open_reader`` does, where all of its parts are in ``cache_dir`` and fit for use;
    ``None`` where one is not."""
    settings = settings or ReaderSettings()
    paths, parts = cache_paths(cache_dir, manifest.workspace.id), parts_of(manifest)
    try:
        opened = open_version(paths, manifest, parts, settings.memory)
    except CacheUnfit:
        return None
    return Reader(opened, snapshot_dir, manifest, settings, kept or Kept())


def open_reader(
    snapshot_dir: Path,
    manifest: Manifest,
    cache_dir: Path,
    settings: ReaderSettings | None = None,
    kept: Kept | None = None,
) -> Reader:
    """Open a version for reading, making first those of its parts in ``cache_dir`` that are not fit for use.

    ``kept`` is where the readers of a process keep parts of lists; without it, the reader has a place of its own.

    A part that fits was made from verified files, so the snapshot's own files are not needed to open it.
    Raises ``SnapshotUnusable`` with the reason.
    """
    settings = settings or ReaderSettings()
    paths, parts = cache_paths(cache_dir, manifest.workspace.id), parts_of(manifest)
    opened = opened_version(snapshot_dir, manifest, paths, parts, settings.memory, settings.making)
    return Reader(opened, snapshot_dir, manifest, settings, kept or Kept())

"""The single writer: sealed segments of the spool go once into each sink, and are then removed (design section 5)."""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from engine.views.collecting.spool import (
    SPOOL,
    dead_worker,
    has_sealed,
    remove_leftovers,
    remove_through,
    remove_worker,
    workers,
)
from engine.views.collecting.targets import day_of, jst_day
from engine.views.counting import analysts_file, count_files
from engine.views.counting.analysts_file import FileBusy, FileDamaged
from engine.views.counting.count_files import CountState
from engine.views.counting.folding import Counting, SpooledSegments, next_batch
from engine.views.counting.titles import live_titles
from snapshots.problems import ParquetryError
from snapshots.store.durable import StoreError, make_directory, writing
from snapshots.store.store import WorkspaceStore

if TYPE_CHECKING:
    import duckdb

VIEWS: Final = "views"
"""The directory of a workspace with everything about its page views."""
LOCK: Final = "writer.lock"
FILE_SECONDS: Final = 15.0
"""Seconds between two openings of the analysts' file while views come in: opening and closing it takes longer than the
work between, and several times as long as the counts."""
BUSY_SECONDS: Final = 2.0
"""Seconds after which a file that is open elsewhere is tried again."""
TROUBLE_SECONDS: Final = 30.0
"""Seconds after which a file that cannot be used is tried again."""

_log = logging.getLogger("parquetry")


@contextmanager
def writer_lock(views: Path, *, wait: float = 0.0) -> Iterator[bool]:
    """Yield whether this process is the writer of a workspace's views for the length of the block: one at a time is.

    The lock ends with the process that holds it. ``wait`` is the seconds to try. Raises ``StoreError``.
    """
    with writing(views):
        make_directory(views)
        descriptor = os.open(views / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    deadline = time.monotonic() + wait
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    yield False
                    return
                time.sleep(0.02)
        yield True
    finally:
        os.close(descriptor)


def adopt(views: Path) -> list[str]:
    """Seal the open segments of the dead workers of this machine, and return these workers. Raises ``OSError``."""
    remove_leftovers(views)
    dead = []
    for worker in workers(views):
        with dead_worker(views, worker) as is_dead:
            if is_dead:
                dead.append(worker)
    return dead


def remove_held(views: Path, dead: Collection[str], through: Mapping[str, int]) -> None:
    """Remove the segments of this machine that every sink holds, and the places of dead workers that have none left.

    Raises ``OSError``.
    """
    for worker in workers(views):
        remove_through(views, worker, through.get(worker, 0))
        if worker in dead and not has_sealed(views, worker):
            remove_worker(views, worker)


@dataclass(frozen=True, slots=True)
class Written:
    """The result of a round."""

    counted: int = 0
    """Views that went into the counts."""
    filed: int = 0
    """Views that went into the analysts' file."""


@dataclass(slots=True)
class ViewWriter:
    """Writes one workspace's views. It holds nothing between rounds, so that any process may do the next one."""

    views: Path
    retention_days: int | None = None
    """Days for which the raw rows are kept; ``None``: for ever."""
    complaint: str | None = None
    """The reason why the analysts' file cannot be written, while counting goes on."""
    _file_at: float = field(default=float("-inf"))
    _pruned_day: int | None = None
    """The last JST day on which old rows were dropped, as days since 1970."""
    _titles_of: str | None = None
    _titles_until: int = 0
    """The version of the titles in the analysts' file, and the instant (UTC milliseconds) when others are live."""
    _counting: Counting = field(init=False)

    def __post_init__(self) -> None:
        self._counting = Counting(self.views, self._store())

    def round(self, now: int, moment: float, *, wait: float = 0.0, flush: bool = False) -> Written | None:
        """Write the sealed segments. Returns ``None`` when another process is the writer.

        ``now`` is UTC milliseconds, ``moment`` seconds of ``time.monotonic``. ``flush`` opens the analysts' file even
        if that was done a moment ago, and raises its errors; ``wait`` is the seconds to wait for the lock and the
        file. Raises ``StoreError`` when the disk refuses, ``CountsDamaged`` when the counts files cannot be read.
        """
        with writer_lock(self.views, wait=wait) as ours:
            if not ours:
                return None
            with writing(self.views / SPOOL):
                dead = adopt(self.views)
                state, counted = self._counting.add(self._segments, count_files.read_state(self.views))
                state = count_files.fold(self.views, state, now)
                filed = 0
                if flush or (
                    moment >= self._file_at
                    and (dead or self._anything_sealed() or self._prune_due(now) or self._titles_due(now))
                ):
                    try:
                        filed = self._file(state, dead, now, moment, wait)
                    except FileBusy:
                        self._file_at = moment + BUSY_SECONDS
                        if flush:
                            raise
                    except (FileDamaged, StoreError) as error:
                        self._file_at = moment + TROUBLE_SECONDS
                        self._complain(str(error))
                        if flush:
                            raise
                return Written(counted, filed)

    @property
    def _segments(self) -> SpooledSegments:
        return SpooledSegments(self.views)

    def _file(self, state: CountState, dead: list[str], now: int, moment: float, wait: float) -> int:
        """Add all counted segments to the analysts' file, then remove those that both sinks hold."""
        filed = 0
        with analysts_file.opened(self.views, wait=wait) as connection:
            through = analysts_file.through(connection)
            while (batch := next_batch(self._segments, through, state.through)).through:
                analysts_file.add(connection, batch)
                through |= batch.through
                filed += len(batch.views)
            if self.retention_days is not None and self._prune_due(now):
                analysts_file.drop_raw_rows(connection, day_of(jst_day(now) - self.retention_days + 1))
                self._pruned_day = jst_day(now)
            analysts_file.forget_others(connection, workers(self.views))
            self._title(connection, now)
        self._file_at = moment + FILE_SECONDS
        if self.complaint is not None:
            _log.info("%s can be written again", self.views / analysts_file.FILE)
            self.complaint = None
        held = {worker: min(number, state.through.get(worker, 0)) for worker, number in through.items()}
        remove_held(self.views, dead, held)
        return filed

    def _title(self, connection: duckdb.DuckDBPyConnection, now: int) -> None:
        """Replace the analysts' list of entries when others are live. Failures are logged only: views matter more."""
        store = self._store()
        try:
            current = store.current()
            if current is None:
                return
            if (current.version, True) != (analysts_file.titled_version(connection), now < self._titles_until):
                titles, until = live_titles(store, store.manifest(current.version), now)
                analysts_file.replace_titles(connection, titles, current.version)
                self._titles_until = until
            self._titles_of = current.version
        except (ParquetryError, OSError, ValueError) as error:
            _log.warning("the titles in %s stay as they are: %s", self.views / analysts_file.FILE, error)

    def _titles_due(self, now: int) -> bool:
        """Whether the analysts' file has titles that may not be live any more."""
        if self._titles_of is None or now >= self._titles_until:
            return (self.views / analysts_file.FILE).exists()
        with suppress(ParquetryError, OSError):
            current = self._store().current()
            return current is not None and current.version != self._titles_of
        return False

    def _store(self) -> WorkspaceStore:
        return WorkspaceStore(self.views.parent.name, self.views.parent)

    def _anything_sealed(self) -> bool:
        return any(has_sealed(self.views, worker) for worker in workers(self.views))

    def _prune_due(self, now: int) -> bool:
        return self.retention_days is not None and self._pruned_day != jst_day(now)

    def _complain(self, complaint: str) -> None:
        if complaint != self.complaint:
            _log.error("%s Counting goes on; views wait in the spool.", complaint)
        self.complaint = complaint

"""Bring the analysts' file up to date with the rows and counts in a store, step by step.

The file of a store in a directory lies in that directory and is updated while a server runs; the file of a bucket is
on an analyst's own machine and is updated by every ``cms views pull``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from engine.views.collecting.spool import VIEWS, View
from engine.views.collecting.targets import day_of, jst_day
from engine.views.counting import count_files
from engine.views.counting.count_files import CountState
from engine.views.counting.titles import live_titles
from engine.views.gathering import analysts_file
from engine.views.gathering.analysts_file import FILE, FileBusy, FileDamaged
from engine.views.gathering.layout import day_and_number
from engine.views.gathering.pulled_counts import PulledCounts
from engine.views.gathering.row_files import views_in_rows
from snapshots.problems import ParquetryError
from snapshots.store.durable import StoreError
from snapshots.store.objects import Objects
from snapshots.store.store import WorkspaceStore

if TYPE_CHECKING:
    import duckdb

STEP_SECONDS: Final = 15.0
"""Seconds between two openings of the analysts' file while views come in: opening and closing it takes longer than the
work between, and several times as long as the counts."""
BUSY_SECONDS: Final = 2.0
"""Seconds after which a file that is open elsewhere is tried again."""
TROUBLE_SECONDS: Final = 30.0
"""Seconds after which a file that cannot be used is tried again."""
_ROWS_AT_ONCE: Final = 100_000
_READ_AT_ONCE: Final = 64
"""Files that are read before their rows are added."""
_THREADS: Final = 8

Tell = Callable[[str, int, int], None]

_log = logging.getLogger("parquetry")


class NotPulled(ParquetryError):
    """The file has the views of something else."""


@dataclass(frozen=True, slots=True)
class Pulled:
    """The result of a pull."""

    rows: int
    """Raw rows that are new in the file."""
    total: int
    """Raw rows in it."""


class FollowedFile:
    """The analysts' file of a workspace in a directory. Only the one that writes the workspace's views follows."""

    def __init__(self, views: Path, workspace_store: WorkspaceStore, retention_days: int | None) -> None:
        """``views`` is the directory of the file. Raw rows are kept for ``retention_days``, ``None``: for ever."""
        self._views = views
        self._workspace_store = workspace_store
        self._retention_days = retention_days
        self.complaint: str | None = None
        """The reason why the file cannot be written, while counting goes on."""
        self._next_at = float("-inf")
        self._follows: str | None = None
        """The write of the counts that the file has."""
        self._pruned_day: int | None = None
        """The last JST day on which old rows were dropped, as days since 1970."""
        self._titles_of: str | None = None
        self._titles_until = 0
        """The version of the titles in the file, and the instant (UTC milliseconds) when others are live."""

    def step(self, counts: Path, state: CountState, now: int, moment: float, wait: float, *, flush: bool) -> None:
        """Bring the file up to the counts in the directory ``counts``, which say ``state``, and the rows in files.

        That is done if something has changed and the last step is a while ago, or ``flush`` says so, which raises what
        is logged otherwise: ``FileBusy``, ``FileDamaged`` and ``StoreError``. ``now`` is UTC milliseconds, ``moment``
        seconds of ``time.monotonic``, ``wait`` the seconds to wait for a file that is open elsewhere.
        """

        is_due = state.write not in ("", self._follows) or self._prune_due(now) or self._titles_due(now)
        if not flush and (not is_due or moment < self._next_at):
            return
        self._follows = None
        try:
            with analysts_file.opened(self._views, wait=wait) as connection:
                follow(connection, self._workspace_store.objects, self._workspace_store.id, counts, state)
                if self._retention_days is not None and self._prune_due(now):
                    analysts_file.drop_raw_rows(connection, day_of(jst_day(now) - self._retention_days + 1))
                    self._pruned_day = jst_day(now)
                self._title(connection, now)
        except FileBusy:
            self._next_at = moment + BUSY_SECONDS
            if flush:
                raise
        except (FileDamaged, StoreError) as error:
            self._next_at = moment + TROUBLE_SECONDS
            self._complain(str(error))
            if flush:
                raise
        else:
            self._next_at = moment + STEP_SECONDS
            self._follows = state.write
            if self.complaint is not None:
                _log.info("%s can be written again", self._views / FILE)
                self.complaint = None

    def _title(self, connection: duckdb.DuckDBPyConnection, now: int) -> None:
        """Replace the analysts' list of entries when others are live. Failures are logged only: views matter more."""
        try:
            current = self._workspace_store.current()
            if current is None:
                return
            if (current.version, True) != (analysts_file.titled_version(connection), now < self._titles_until):
                self._titles_until = replace_titles(connection, self._workspace_store, current.version, now)
            self._titles_of = current.version
        except (ParquetryError, OSError, ValueError) as error:
            _log.warning("the titles in %s stay as they are: %s", self._views / FILE, error)

    def _titles_due(self, now: int) -> bool:
        """Whether the file has titles that may not be live any more."""
        if self._titles_of is None or now >= self._titles_until:
            return (self._views / FILE).exists()
        with suppress(ParquetryError, OSError):
            current = self._workspace_store.current()
            return current is not None and current.version != self._titles_of
        return False

    def _prune_due(self, now: int) -> bool:
        return self._retention_days is not None and self._pruned_day != jst_day(now)

    def _complain(self, complaint: str) -> None:
        if complaint != self.complaint:
            _log.error("%s Counting goes on; the rows wait in the store.", complaint)
        self.complaint = complaint


def pull_views(workspace_store: WorkspaceStore, file: Path, now: int, tell: Tell = lambda *_: None) -> Pulled:
    """Bring an analysts' file up to date with a workspace's page views in a bucket; a missing file is made.

    Rows in the file are not asked for again, and a pull that was cut off goes on where it ended. ``now`` (UTC
    milliseconds) decides which entries are live; ``tell`` is called as ``cli.output.progress`` has it. Raises
    ``FileBusy``, ``FileDamaged``, ``NotPulled``, ``StoreError`` and ``CountsDamaged``.
    """
    objects, workspace = workspace_store.objects, workspace_store.id
    named = f"{objects.location} {workspace}"
    with TemporaryDirectory(prefix="cms-views-") as folder:
        counts = PulledCounts(objects, workspace, Path(folder))
        counts.refresh()
        with analysts_file.opened(file.parent, name=file.name) as connection:
            _check(connection, file, named)
            rows = follow(connection, objects, workspace, Path(folder), counts.state, tell)
            tell("reading the entries' titles", 0, 0)
            current = workspace_store.current()
            if current is not None:
                replace_titles(connection, workspace_store, current.version, now)
            [(total,)] = connection.execute("SELECT count(*) FROM page_views").fetchall()
    return Pulled(rows, total)


def follow(
    connection: duckdb.DuckDBPyConnection,
    objects: Objects,
    workspace: str,
    counts: Path,
    state: CountState,
    tell: Tell = lambda *_: None,
) -> int:
    """Add the rows that are in files of the store to an opened analysts' file, and replace the counts that changed.

    ``counts`` is a directory with the counts files, which say ``state``. Returns the number of rows added; what was
    done stays where the rest is cut off. Raises ``StoreError``, ``CountsDamaged`` and pyarrow's errors.
    """
    is_new = analysts_file.counted_state(connection) is None and not analysts_file.rows_through(connection)
    if state.filing.kept_from and (is_new or analysts_file.source(connection) is not None):
        analysts_file.keep_from(connection, day_of(state.filing.kept_from))
    rows = _add_rows(connection, objects, workspace, state, tell)
    since = changed_since(connection, counts, state)
    if since is not None:
        analysts_file.replace_counts(connection, count_files.all_rows(counts, state, since), since, state)
    return rows


def changed_since(connection: duckdb.DuckDBPyConnection, counts: Path, state: CountState) -> date | None:
    """Return the first JST day whose counts may differ from an opened analysts' file; ``None`` where none do.

    Arguments are as for ``follow``. Raises ``CountsDamaged``.
    """
    known = analysts_file.counted_state(connection)
    if known is not None and known.write == state.write != "":
        return None
    if known is None or known.base != state.base or state.base is None:
        return date.min
    return count_files.oldest_day(counts)


def replace_titles(
    connection: duckdb.DuckDBPyConnection, workspace_store: WorkspaceStore, version: str, now: int
) -> int:
    """Replace the time zone in an opened analysts' file by that of a version, and the titles by those of its entries
    that are live at ``now`` (UTC milliseconds).

    Returns the instant until which the titles are right. Raises as ``live_titles`` does.
    """
    manifest = workspace_store.manifest(version)
    titles, until = live_titles(workspace_store, manifest, now)
    analysts_file.replace_titles(connection, titles, version, manifest.workspace.timezone)
    return until


def filed_rows(objects: Objects, workspace: str, after: int, state: CountState) -> Iterator[tuple[int, list[View]]]:
    """Yield the number and the rows of each finished filing after number ``after``, in order.

    A file that was dropped meanwhile, as old ones are, has no rows. Raises ``StoreError``, and pyarrow's errors.
    """
    filing = state.filing
    last = filing.number if filing.claim is None else filing.claim.number - 1
    if last <= after:
        return
    found = [(day_and_number(one.key), one.key) for one in objects.names(f"{workspace}/{VIEWS}")]
    wanted = sorted((at[1], key) for at, key in found if at is not None and after < at[1] <= last)

    def read(one: tuple[int, str]) -> tuple[int, list[View]]:
        content = objects.read(one[1])
        return one[0], [] if content is None else views_in_rows(content.data)

    def each() -> Iterator[tuple[int, list[View]]]:
        with ThreadPoolExecutor(_THREADS) as threads:
            for first in range(0, len(wanted), _READ_AT_ONCE):
                yield from threads.map(read, wanted[first : first + _READ_AT_ONCE])

    for number, files in groupby(each(), lambda one: one[0]):
        yield number, [view for _, views in files for view in views]


def _check(connection: duckdb.DuckDBPyConnection, file: Path, named: str) -> None:
    source = analysts_file.source(connection)
    is_new = not analysts_file.filed_through(connection) and not analysts_file.rows_through(connection)
    if source != named and (source is not None or not is_new):
        has = f"was pulled from {source}" if source else "is the file of a server"
        raise NotPulled(f"{file} {has}, and not from {named}. Name another file.")
    if source is None:
        analysts_file.note_source(connection, named)


def _add_rows(
    connection: duckdb.DuckDBPyConnection, objects: Objects, workspace: str, state: CountState, tell: Tell
) -> int:
    added = 0
    waiting: list[View] = []
    number = last = analysts_file.filed_through(connection)
    for number, views in filed_rows(objects, workspace, last, state):
        tell(f"{added + len(waiting):,} views", number - last, state.filing.number - last)
        waiting += views
        if len(waiting) >= _ROWS_AT_ONCE:
            analysts_file.add_rows(connection, waiting, number)
            added += len(waiting)
            waiting.clear()
    if number > last:
        analysts_file.add_rows(connection, waiting, number)
    return added + len(waiting)

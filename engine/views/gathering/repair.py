"""The counts, the rows and the analysts' file of a workspace: comparing them, and making one anew from the others."""

# ruff: noqa: S608 - names of this file, never a client's text
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import duckdb
import msgspec

from engine.views.collecting.spool import VIEWS, View
from engine.views.collecting.targets import day_of, jst_day
from engine.views.counting import count_files
from engine.views.counting.count_files import COUNTS, TODAY, CountState, Filing, new_write
from engine.views.counting.count_rows import CountsDamaged
from engine.views.counting.folding import Segments, next_batch
from engine.views.gathering import analysts_file
from engine.views.gathering.analysts_file import FILE, FileDamaged
from engine.views.gathering.followed_file import changed_since, filed_rows
from engine.views.gathering.layout import HINT, last_filing, today_key
from engine.views.gathering.pulled_counts import PulledCounts, sealed
from engine.views.gathering.segments import BucketSegments
from engine.views.gathering.spooled import SpooledSegments, writer_lock
from engine.views.gathering.stored_views import settled
from engine.views.gathering.writer import ViewWriter
from snapshots.store.changes import announce
from snapshots.store.durable import StoreError, sync_directory, writing
from snapshots.store.objects import ABSENT, MissingObject, Objects
from snapshots.store.store import WorkspaceStore

if TYPE_CHECKING:
    import pyarrow as pa

WAIT_SECONDS: Final = 30.0
_SHOWN: Final = 20
_NOT_ADDED_UP: Final = """
SELECT coalesce(d.day, r.day) AS day, coalesce(d.kind, r.kind), coalesce(d.key, r.key), coalesce(d.views, 0),
       coalesce(r.views, 0)
FROM (FROM {left}) AS d FULL JOIN (FROM {right}) AS r ON d.day = r.day AND d.kind = r.kind AND d.key = r.key
WHERE coalesce(d.views, 0) <> coalesce(r.views, 0) ORDER BY ALL
"""
_COUNTED_AGAIN: Final = "(SELECT day, kind, key, count(*) AS views FROM ({}) WHERE day >= DATE '{}' GROUP BY ALL)"


@dataclass(frozen=True, slots=True)
class ViewFiles:
    """The files of the page views of a workspace, to be compared and repaired."""

    objects: Objects
    workspace: str
    views: Path | None
    """The directory with the spool and the analysts' file; ``None`` for a bucket."""

    @classmethod
    def of(cls, workspace_store: WorkspaceStore) -> ViewFiles:
        """Return the files of the page views of a workspace."""
        return cls(
            workspace_store.objects,
            workspace_store.id,
            workspace_store.directory / VIEWS if workspace_store.bucket is None else None,
        )

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the writer of a directory away during the block; in a bucket, compare-and-set does. Raises
        ``StoreError``."""
        if self.views is None:
            yield
            return
        with writer_lock(self.views, wait=WAIT_SECONDS) as ours:
            if not ours:
                raise self.busy()
            yield

    def busy(self) -> StoreError:
        """Return the error for views that another process goes on writing."""
        return StoreError(f"{self.views}: another process has been writing for {WAIT_SECONDS:g} s. Try again.")

    def segments(self) -> Segments:
        """Return the sealed segments. Raises ``StoreError``."""
        return BucketSegments(self.objects, self.workspace) if self.views is None else SpooledSegments(self.views)

    def got(self, counts: Path, now: int) -> CountState:
        """Download the counts into a directory and return their state. Raises ``StoreError`` and ``CountsDamaged``."""
        pulled = PulledCounts(self.objects, self.workspace, counts)
        pulled.refresh()
        return settled(self.objects, self.workspace, pulled, self.segments(), jst_day(now))

    def unfiled(self, state: CountState) -> Iterator[list[View]]:
        """The views that are counted, and have no rows in files yet. Raises ``StoreError``."""
        segments, through = self.segments(), dict(state.filing.through)
        while (batch := next_batch(segments, through, state.through)).through:
            yield list(batch.views)
            through |= batch.through


def complaints(files: ViewFiles, now: int) -> list[str]:
    """Contradictions between the files of a workspace's page views, as sentences; empty when there are none.

    The counts are compared with the rows, as far back as rows are kept, and with the analysts' file of a directory.
    What waits is allowed for. ``now`` is UTC milliseconds. Raises ``StoreError``, ``CountsDamaged``, ``FileBusy`` and
    ``FileDamaged``; while views come into a bucket, segments may be gone by the time they are read (``SegmentGone``):
    the next attempt may be luckier.
    """
    with files.held(), TemporaryDirectory(prefix="cms-views-") as folder:
        counts = Path(folder)
        state = files.got(counts, now)
        with analysts_file.opened(counts) as connection:
            _add_views(connection, files, state)
            counted = count_files.all_rows(counts, state)
            kept_from = day_of(state.filing.kept_from)
            found = _rows_differ(connection, counted, "FROM page_views", kept_from, "the counts say {0}, the rows {1}")
        if files.views is not None:
            with analysts_file.opened(files.views, wait=WAIT_SECONDS) as connection:
                found += _file_complaints(connection, files, counts, state, counted)
    return found


def _file_complaints(
    connection: duckdb.DuckDBPyConnection, files: ViewFiles, counts: Path, state: CountState, counted: pa.Table
) -> list[str]:
    """Return the faults of an analysts' file, as sentences; rows that the file is still to get are no fault."""
    waiting = [view for views in files.unfiled(state) for view in views]
    for _, views in filed_rows(files.objects, files.workspace, analysts_file.filed_through(connection), state):
        waiting += views
    analysts_file.stage(connection, waiting)
    rows = "FROM page_views UNION ALL FROM added"
    kept_from = analysts_file.kept_from(connection) or date.min
    found = _rows_differ(connection, counted, rows, kept_from, "the counts say {0}, page_views has {1} rows")
    until = changed_since(connection, counts, state) or date.max
    found += _differences(
        connection,
        f"(SELECT * FROM daily_counts WHERE day < DATE '{until}')",
        f"(SELECT * FROM counted WHERE day < DATE '{until}')",
        "daily_counts says {0}, the counts {1}",
    )
    [(wrong,)] = connection.execute(
        "SELECT count(*) FROM page_views WHERE day <> CAST(viewed_at + INTERVAL 9 HOUR AS DATE)"
    ).fetchall()
    return [*found, f"{wrong} rows of page_views have a day that is not theirs"] if wrong else found


def rebuild_counts(files: ViewFiles, now: int) -> None:
    """Make the counts anew from the rows; of days whose rows are not kept, they stay as they were.

    Where the counts cannot be read at all, those days come from the analysts' file; where that does not say which
    segments in the spool have rows in a file already, all are counted, as if none had. ``now`` is UTC milliseconds.
    Raises ``StoreError``, ``FileBusy`` and ``FileDamaged``, and ``Conflict`` where a machine writes at the same time:
    try again then.
    """
    with files.held(), TemporaryDirectory(prefix="cms-views-") as folder:
        views = Path(folder)
        found = files.objects.read(today_key(files.workspace))
        try:
            state = files.got(views, now)
            counted = count_files.all_rows(views, state)
        except (CountsDamaged, MissingObject):  # the latter: the counts of the days before are gone
            state, counted = _counts_elsewhere(files, now)
        with analysts_file.opened(views) as connection:
            _add_views(connection, files, state)
            connection.register("counted", counted)
            kept_from = day_of(state.filing.kept_from)
            again = _COUNTED_AGAIN.format("FROM page_views", kept_from)
            rows = connection.sql(
                f"SELECT kind, key, day, views FROM counted WHERE day < DATE '{kept_from}' UNION ALL "
                f"SELECT kind, key, day, views FROM {again}"
            ).to_arrow_table()
        state = new_write(msgspec.structs.replace(state, base=None, base_day=0, base_bytes=0, base_sha256=""))
        count_files.replace_all(views, rows, state)
        data = sealed((views / COUNTS / TODAY).read_bytes())
        files.objects.replace(today_key(files.workspace), data, ABSENT if found is None else found.tag)
        if files.views is None:
            announce(files.objects, files.workspace, key=HINT)


def rebuild_file(files: ViewFiles, now: int) -> Path | None:
    """Make the daily counts in the analysts' file of a directory anew, and have it follow the store at once.

    The raw rows in it stay. A file that cannot be used is put aside, and its new place returned; the new file has the
    rows that are in files. ``now`` is UTC milliseconds. Raises ``FileBusy``, ``CountsDamaged`` and ``StoreError``,
    also for a bucket, which has no such file.
    """
    if files.views is None:
        raise StoreError(
            "A store in a bucket has no analysts' file: each analyst has one. Delete it, and make it again with "
            "`cms views pull`."
        )
    aside = None
    with files.held():
        try:
            with analysts_file.opened(files.views, wait=WAIT_SECONDS) as connection:
                analysts_file.forget_counts(connection)
        except FileDamaged:
            aside = _put_aside(files.views, now)
    if ViewWriter(files.views).round(now, 0.0, wait=WAIT_SECONDS, flush=True) is None:
        raise files.busy()
    return aside


def _counts_elsewhere(files: ViewFiles, now: int) -> tuple[CountState, pa.Table]:
    """Return a state and counts to go on from where the counts cannot be read; the counts are those of days whose
    rows are not kept."""
    last = last_filing(files.objects, files.workspace)
    if files.views is None:
        return CountState(filing=Filing(number=last)), count_files.all_rows(Path(), CountState())
    with analysts_file.opened(files.views, wait=WAIT_SECONDS) as connection:
        counted = connection.sql("SELECT kind, key, day, views FROM daily_counts").to_arrow_table()
        known, through = analysts_file.counted_state(connection), analysts_file.rows_through(connection)
    if known is None:  # a new file, or that of an older program: all rows are in that one alone
        kept_from = jst_day(now) + 1 if through else 0
        return CountState(through, filing=Filing(through, last, kept_from=kept_from)), counted
    if known.filing.number == last and known.filing.claim is None:
        return known, counted
    return CountState(filing=Filing(number=last, kept_from=known.filing.kept_from)), counted


def _add_views(connection: duckdb.DuckDBPyConnection, files: ViewFiles, state: CountState) -> None:
    """Add the views that are counted to ``page_views``: those in files, and those whose rows no file has yet."""
    for _, views in filed_rows(files.objects, files.workspace, 0, state):
        analysts_file.add_rows(connection, views)
    for views in files.unfiled(state):
        analysts_file.add_rows(connection, views)


def _rows_differ(
    connection: duckdb.DuckDBPyConnection, counted: pa.Table, rows: str, kept_from: date, told: str
) -> list[str]:
    """Return sentences about counts that differ from the rows of a query, for days from ``kept_from`` on."""
    connection.register("counted", counted)
    left = f"(SELECT day, kind, key, views FROM counted WHERE day >= DATE '{kept_from}')"
    return _differences(connection, left, _COUNTED_AGAIN.format(rows, kept_from), told)


def _differences(connection: duckdb.DuckDBPyConnection, left: str, right: str, told: str) -> list[str]:
    """Rows (day, kind, key, views) that two queries in brackets differ in, as sentences; ``told`` says both numbers."""
    rows = connection.execute(_NOT_ADDED_UP.format(left=left, right=right)).fetchall()
    found = [f"{day} {kind} {key}: {told.format(one, other)}" for day, kind, key, one, other in rows[:_SHOWN]]
    if len(rows) > _SHOWN:
        found.append(f"and {len(rows) - _SHOWN} more like these")
    return found


def _put_aside(views: Path, now: int) -> Path:
    aside = views / f"{FILE}.damaged-{now}"
    with writing(aside):
        (views / FILE).rename(aside)
        (views / f"{FILE}.wal").unlink(missing_ok=True)
        sync_directory(views)
    return aside

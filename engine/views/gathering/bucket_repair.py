"""The counts and the rows in a bucket: comparing them, and making the counts anew from the rows."""

# ruff: noqa: S608 - names of this file, never a client's text
from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import duckdb
import msgspec

from engine.views.collecting.targets import day_of
from engine.views.counting import analysts_file, count_files
from engine.views.counting.analysts_file import Batch
from engine.views.counting.count_files import COUNTS, TODAY, CountState, Filing
from engine.views.counting.count_rows import CountsDamaged
from engine.views.counting.folding import next_batch
from engine.views.counting.repair import differences
from engine.views.counting.writer import VIEWS
from engine.views.gathering.layout import HINT, SPOOL, Sent, day_and_number, sent_views, today_key
from engine.views.gathering.pulled_counts import PulledCounts, new_write, sealed
from engine.views.gathering.pulled_file import filed_rows
from engine.views.gathering.segments import BucketSegments
from snapshots.store.changes import announce
from snapshots.store.objects import ABSENT, Objects

if TYPE_CHECKING:
    import pyarrow as pa


def bucket_complaints(objects: Objects, workspace: str) -> list[str]:
    """Contradictions between the counts and the rows in a bucket, as sentences; empty when there are none.

    Rows that no file has yet are allowed for. Raises ``StoreError`` and ``CountsDamaged``; while views come in, the
    segments may be gone by the time they are read (``SegmentGone``): the next attempt may be luckier.
    """
    with TemporaryDirectory(prefix="cms-views-") as folder:
        counts = PulledCounts(objects, workspace, Path(folder))
        counts.refresh()
        kept_from = day_of(counts.state.filing.kept_from)
        with analysts_file.opened(Path(folder)) as connection:
            _add_views(connection, objects, workspace, counts.state)
            connection.register("counted", count_files.all_rows(Path(folder), counts.state))
            return differences(
                connection,
                f"(SELECT * FROM counted WHERE day >= DATE '{kept_from}')",
                "(SELECT day, kind, key, count(*) AS views FROM page_views "
                f"WHERE day >= DATE '{kept_from}' GROUP BY ALL)",
                "the counts say {0}, the rows {1}",
            )


def rebuild_bucket_counts(objects: Objects, workspace: str) -> None:
    """Make the counts in a bucket anew from the rows there; of days whose rows are not kept, they stay as they were.

    Where the counts cannot be read at all, nothing says which segments in the spool have rows in a file already: all of
    them are counted, as if none had. Raises ``StoreError``, and ``Conflict`` where a machine writes at the same time:
    try again then.
    """
    with TemporaryDirectory(prefix="cms-views-") as folder:
        views = Path(folder)
        found = objects.read(today_key(workspace))
        counts = PulledCounts(objects, workspace, views)
        with analysts_file.opened(views) as connection:
            try:
                counts.refresh()
                state = counts.state
                connection.register("counted", count_files.all_rows(views, state))
            except CountsDamaged:
                state = CountState(filing=Filing(number=_last_number(objects, workspace)))
                connection.register("counted", count_files.all_rows(views, CountState()))
            _add_views(connection, objects, workspace, state)
            rows = _rows(connection, state)
        state = new_write(msgspec.structs.replace(state, base=None, base_day=0, base_bytes=0, base_sha256=""))
        count_files.replace_all(views, rows, state)
        data = sealed((views / COUNTS / TODAY).read_bytes())
        objects.replace(today_key(workspace), data, ABSENT if found is None else found.tag)
        announce(objects, workspace, key=HINT)


def _rows(connection: duckdb.DuckDBPyConnection, state: CountState) -> pa.Table:
    kept_from = day_of(state.filing.kept_from)
    return connection.sql(
        f"SELECT kind, key, day, views FROM counted WHERE day < DATE '{kept_from}' UNION ALL "
        f"SELECT kind, key, day, count(*) FROM page_views WHERE day >= DATE '{kept_from}' GROUP BY ALL"
    ).to_arrow_table()


def _add_views(connection: duckdb.DuckDBPyConnection, objects: Objects, workspace: str, state: CountState) -> None:
    """Add the views that are counted to ``page_views``: those in files, and those whose rows no file has yet."""
    for _, views in filed_rows(objects, workspace, 0, state):
        analysts_file.add_rows(connection, Batch(views, {}))
    listed = sent_views(objects.names(f"{SPOOL}/{workspace}")).get(workspace, Sent())
    segments = BucketSegments(objects, workspace, listed)
    through = dict(state.filing.through)
    while (batch := next_batch(segments, through, state.through)).through:
        analysts_file.add_rows(connection, Batch(batch.views, {}))
        through |= batch.through


def _last_number(objects: Objects, workspace: str) -> int:
    places = [day_and_number(one.key) for one in objects.names(f"{workspace}/{VIEWS}")]
    return max((place[1] for place in places if place is not None), default=0)

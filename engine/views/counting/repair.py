"""The two sinks: comparing them, and rebuilding one from the other (design section 5)."""

# ruff: noqa: S608 - names of this file, never a client's text
from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

from engine.views.collecting.spool import View, sealed_after, workers
from engine.views.collecting.targets import day_of, jst_day
from engine.views.counting import analysts_file, count_files
from engine.views.counting.analysts_file import FILE, FileDamaged
from engine.views.counting.count_files import CountState
from engine.views.counting.writer import writer_lock
from snapshots.store.durable import StoreError, sync_directory, writing

if TYPE_CHECKING:
    import duckdb

WAIT_SECONDS: Final = 30.0
_SHOWN: Final = 20
_NOT_ADDED_UP: Final = """
SELECT coalesce(d.day, r.day) AS day, coalesce(d.kind, r.kind), coalesce(d.key, r.key), coalesce(d.views, 0),
       coalesce(r.views, 0)
FROM (FROM {left}) AS d FULL JOIN (FROM {right}) AS r ON d.day = r.day AND d.kind = r.kind AND d.key = r.key
WHERE coalesce(d.views, 0) <> coalesce(r.views, 0) ORDER BY ALL
"""


@contextmanager
def _as_writer(views: Path) -> Iterator[None]:
    with writer_lock(views, wait=WAIT_SECONDS) as ours:
        if not ours:
            raise StoreError(f"{views}: another process has been writing for {WAIT_SECONDS:g} s. Try again.")
        yield


def complaints(views: Path) -> list[str]:
    """Contradictions between the files of a workspace's page views, as sentences; empty when there are none.

    The daily counts are counted again from the rows, as far back as rows are kept, and compared with the counts files;
    views that only one of the two has from the spool so far are allowed for. Raises ``FileBusy``, ``FileDamaged``,
    ``CountsDamaged`` and ``StoreError``.
    """
    with _as_writer(views), analysts_file.opened(views, wait=WAIT_SECONDS) as connection:
        state = count_files.read_state(views)
        filed = analysts_file.through(connection)
        connection.register("counted", count_files.all_rows(views, state))
        analysts_file.stage(connection, list(_between(views, filed, state.through)))
        kept_from = analysts_file.kept_from(connection) or date.min
        found = differences(
            connection,
            f"(SELECT * FROM daily_counts WHERE day >= DATE '{kept_from}')",
            f"(SELECT day, kind, key, count(*) AS views FROM page_views WHERE day >= DATE '{kept_from}' GROUP BY ALL)",
            "daily_counts says {0}, page_views has {1} rows",
        )
        found += differences(
            connection,
            "(SELECT day, kind, key, sum(views) AS views FROM (SELECT day, kind, key, views FROM daily_counts "
            "UNION ALL SELECT day, kind, key, count(*) FROM added GROUP BY ALL) GROUP BY ALL)",
            "(SELECT day, kind, key, views FROM counted)",
            "daily_counts and the spool say {0}, the counts files {1}",
        )
        [(wrong,)] = connection.execute(
            "SELECT count(*) FROM page_views WHERE day <> CAST(viewed_at + INTERVAL 9 HOUR AS DATE)"
        ).fetchall()
        if wrong:
            found.append(f"{wrong} rows of page_views have a day that is not theirs")
        return found


def rebuild_file(views: Path, now: int) -> Path | None:
    """Rebuild the daily counts of the analysts' file from the counts files; ``now`` is UTC milliseconds.

    The raw rows stay. A file that cannot be used is put aside, and its new place returned; the new file has
    the raw rows that are still in the spool. Raises ``FileBusy``, ``CountsDamaged`` and ``StoreError``.
    """
    with _as_writer(views):
        state = count_files.read_state(views)
        rows = count_files.all_rows(views, state)
        aside = None
        try:
            with analysts_file.opened(views, wait=WAIT_SECONDS) as connection:
                filed = analysts_file.through(connection)
        except FileDamaged:
            aside = _put_aside(views, now)
            filed = {}
        with analysts_file.opened(views, wait=WAIT_SECONDS) as connection:
            analysts_file.replace_counts(connection, rows, list(_between(views, filed, state.through)), state.through)
            if aside is not None:
                analysts_file.keep_from(connection, day_of(jst_day(now) + 1))
        return aside


def rebuild_counts(views: Path) -> None:
    """Rebuild the counts files from the analysts' file; views in the spool follow with the next round.

    Raises ``FileBusy``, ``FileDamaged`` and ``StoreError``.
    """
    with _as_writer(views), analysts_file.opened(views, wait=WAIT_SECONDS) as connection:
        rows = connection.sql("SELECT kind, key, day, views FROM daily_counts").to_arrow_table()
        count_files.replace_all(views, rows, CountState(analysts_file.through(connection)))


def _between(views: Path, filed: Mapping[str, int], counted: Mapping[str, int]) -> Iterator[View]:
    """The views that are in the counts files and not yet in the analysts' file."""
    for worker in workers(views):
        for segment in sealed_after(views, worker, filed.get(worker, 0)):
            if segment.number > counted.get(worker, 0):
                break
            yield from segment.views()


def differences(connection: duckdb.DuckDBPyConnection, left: str, right: str, told: str) -> list[str]:
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

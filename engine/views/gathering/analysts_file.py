"""``views.duckdb``, the file for analysts: what its tables hold, and how they change (decision 48).

The file is opened for the length of one step only, because DuckDB lets nobody else in meanwhile. The transaction that
adds rows or counts also notes how far the file has come, so that a step that was cut off can be repeated.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb
import msgspec
import numpy as np

from engine.database import open_database
from engine.views.collecting.spool import View
from engine.views.collecting.targets import jst_day
from engine.views.counting.count_files import CountState
from snapshots.problems import ParquetryError
from snapshots.store.durable import StoreError

if TYPE_CHECKING:
    import pyarrow as pa

FILE: Final = "views.duckdb"
_MEMORY: Final = "512MB"
_READABLE_SINCE: Final = "v1.0.0"
"""The oldest DuckDB that can open the file: analysts' tools bring one of their own, and seldom the newest."""
_WAIT_SECONDS: Final = 0.05

_KEPT_FROM: Final = "raw rows kept from"
_TITLES_OF: Final = "titles of version"
_TIME_ZONE: Final = "time zone"
_PULLED_FROM: Final = "pulled from"
_COUNTS_OF: Final = "counts of"
_FILES: Final = "files of rows"
"""The name behind which the number of the last file is."""

_TABLES: Final = """
CREATE TABLE page_views (viewed_at TIMESTAMP, day DATE, kind VARCHAR, key VARCHAR, origin VARCHAR);
CREATE TABLE daily_counts (day DATE, kind VARCHAR, key VARCHAR, views BIGINT);
CREATE TABLE segments (worker VARCHAR PRIMARY KEY, through BIGINT);
CREATE TABLE entries (id VARCHAR, endpoint VARCHAR, title VARCHAR);
CREATE TABLE facts (name VARCHAR PRIMARY KEY, value VARCHAR);
CREATE VIEW entry_views AS
  SELECT d.day, d.key AS id, e.endpoint, e.title, d.views
  FROM daily_counts AS d LEFT JOIN entries AS e ON e.id = d.key WHERE d.kind = 'entry';
"""
_LOCAL: Final = "local_page_views"
_LOCAL_VIEW: Final = """
CREATE VIEW local_page_views AS
  SELECT local_time::DATE AS local_day, hour(local_time) AS local_hour, local_time, day, kind, key, origin
  FROM (
    SELECT *, viewed_at AT TIME ZONE 'UTC'
      AT TIME ZONE coalesce((SELECT value FROM facts WHERE name = 'time zone'), 'UTC') AS local_time
    FROM page_views
  );
"""
_COMMENTS: Final = {
    "TABLE page_views": "One row for each counted page view. Older ones may have been dropped; daily_counts has all.",
    "COLUMN page_views.viewed_at": "When the view was counted, in UTC.",
    "COLUMN page_views.day": "The calendar day in Japan (JST, UTC+9).",
    "COLUMN page_views.kind": "What was viewed: 'entry', 'path', or 'other' beyond views.max_keys.",
    "COLUMN page_views.key": "The entry's ID, or the path, normalised.",
    "COLUMN page_views.origin": "The host of the page that sent the view.",
    "TABLE daily_counts": "The number of views of each entry and path on each day, for all time.",
    "COLUMN daily_counts.day": "The calendar day in Japan (JST, UTC+9).",
    "COLUMN daily_counts.kind": "What was viewed: 'entry', 'path', or 'other' beyond views.max_keys.",
    "COLUMN daily_counts.key": "The entry's ID, or the path, normalised.",
    "COLUMN daily_counts.views": "The number of views on that day.",
    "TABLE segments": "For the server's own use: which page views are already in this file.",
    "COLUMN segments.worker": "The name of a process that collected views.",
    "COLUMN segments.through": "The number of the last file of views from this process that is in here.",
    "TABLE entries": "The live entries with their titles; an ID that several APIs use has one row for each API.",
    "COLUMN entries.id": "The entry's ID: the key of its rows in daily_counts and page_views.",
    "COLUMN entries.endpoint": "The endpoint of its API, as in the address of a request.",
    "COLUMN entries.title": "Its first text field, in the main language.",
    "TABLE facts": "For the server's own use: facts about this file.",
    "COLUMN facts.name": "The name of a fact.",
    "COLUMN facts.value": "Its value.",
    f"VIEW {_LOCAL}": f"The page views in the workspace's time zone, which is the fact '{_TIME_ZONE}'.",
    f"COLUMN {_LOCAL}.local_day": "The calendar day in the workspace's time zone.",
    f"COLUMN {_LOCAL}.local_hour": "The hour of that day, from 0 to 23.",
    f"COLUMN {_LOCAL}.local_time": "When the view was counted, in the workspace's time zone.",
    f"COLUMN {_LOCAL}.day": "The calendar day in Japan (JST, UTC+9), as in daily_counts.",
    f"COLUMN {_LOCAL}.kind": "What was viewed: 'entry', 'path', or 'other' beyond views.max_keys.",
    f"COLUMN {_LOCAL}.key": "The entry's ID, or the path, normalised.",
    f"COLUMN {_LOCAL}.origin": "The host of the page that sent the view.",
    "VIEW entry_views": "The daily counts of entries with their titles.",
    "COLUMN entry_views.day": "The calendar day in Japan (JST, UTC+9).",
    "COLUMN entry_views.id": "The entry's ID.",
    "COLUMN entry_views.endpoint": "The endpoint of its API; NULL for an entry that is not live.",
    "COLUMN entry_views.title": "Its first text field, in the main language; NULL for an entry that is not live.",
    "COLUMN entry_views.views": "The number of views on that day.",
}
# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decode_state: Final = msgspec.json.Decoder(CountState).decode
_DESCRIBED: Final = "comments"
_DESCRIPTION: Final = blake2b(repr(_COMMENTS).encode(), digest_size=8).hexdigest()
"""A mark of the comments, by which a file that an older program made is found."""


class FileBusy(ParquetryError):
    """The file is open elsewhere; the writer tries again."""


class FileDamaged(ParquetryError):
    """DuckDB cannot use the file."""


def filed_through(connection: duckdb.DuckDBPyConnection) -> int:
    """The number of the last files of rows that are in ``page_views``; 0 for none."""
    # An older program that goes on with the file of a directory forgets the one, and one that pulls, the other.
    return max(_segments(connection).get(_FILES, 0), int(_fact(connection, _FILES) or 0))


def rows_through(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Return, by worker, the number of the last of its segments up to which all rows are in ``page_views``.

    An older program has put them there itself, and has counted them in ``daily_counts``.
    """
    return {worker: number for worker, number in _segments(connection).items() if worker != _FILES}


def add_rows(connection: duckdb.DuckDBPyConnection, views: Sequence[View], number: int | None = None) -> None:
    """Add rows to ``page_views`` in one transaction, after which it holds the files of rows through ``number``."""
    with _transaction(connection):
        stage(connection, views)
        connection.execute("INSERT INTO page_views SELECT * FROM added")
        if number is not None:
            _note_segment(connection, _FILES, number)
            _note(connection, _FILES, str(number))


def source(connection: duckdb.DuckDBPyConnection) -> str | None:
    """Return the store that the file was pulled from; ``None`` for a server's file and for a new one."""
    return _fact(connection, _PULLED_FROM)


def note_source(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    """Note the store that the file is pulled from."""
    _note(connection, _PULLED_FROM, text)


def drop_raw_rows(connection: duckdb.DuckDBPyConnection, before: date) -> int:
    """Drop the rows of ``page_views`` before a JST day, and return their number. The daily counts stay."""
    with _transaction(connection):
        [(dropped,)] = connection.execute("DELETE FROM page_views WHERE day < $day", {"day": before}).fetchall()
        if dropped:
            keep_from(connection, before)
    return int(dropped)


def kept_from(connection: duckdb.DuckDBPyConnection) -> date | None:
    """The first JST day with all raw rows; ``None`` when no rows were ever dropped."""
    fact = _fact(connection, _KEPT_FROM)
    return None if fact is None else date.fromisoformat(fact)


def keep_from(connection: duckdb.DuckDBPyConnection, day: date) -> None:
    """Note the first JST day with all raw rows."""
    _note(connection, _KEPT_FROM, day.isoformat())


def counted_state(connection: duckdb.DuckDBPyConnection) -> CountState | None:
    """The state of the counts that are in ``daily_counts``; ``None`` in a new file, and in that of an older program."""
    fact = _fact(connection, _COUNTS_OF)
    return None if fact is None else _decode_state(fact)


def replace_counts(connection: duckdb.DuckDBPyConnection, rows: pa.Table, since: date, state: CountState) -> None:
    """Make ``rows`` (kind, key, day, views) the ``daily_counts`` from the JST day ``since`` on, which are of ``state``.

    The segments whose rows are in files are noted as older programs do, which can go on with the file.
    """
    connection.register("counted", rows)
    with _transaction(connection):
        connection.execute("DELETE FROM daily_counts WHERE day >= $since", {"since": since})
        connection.execute("INSERT INTO daily_counts SELECT day, kind, key, views FROM counted ORDER BY day, kind, key")
        connection.execute("DELETE FROM segments WHERE worker <> $files", {"files": _FILES})
        for worker, number in state.filing.through.items():
            _note_segment(connection, worker, number)
        _note(connection, _COUNTS_OF, msgspec.json.encode(state).decode())
    connection.unregister("counted")


def forget_counts(connection: duckdb.DuckDBPyConnection) -> None:
    """Forget which counts the file has, so that the next step replaces all of ``daily_counts``."""
    connection.execute("DELETE FROM facts WHERE name = $name", {"name": _COUNTS_OF})


def titled_version(connection: duckdb.DuckDBPyConnection) -> str | None:
    """Return the version of the content whose titles are in ``entries``; ``None`` where there are none."""
    return _fact(connection, _TITLES_OF)


def replace_titles(connection: duckdb.DuckDBPyConnection, titles: pa.Table, version: str, zone: str) -> None:
    """Make ``entries`` the rows (id, endpoint, title) of a version of the content, and ``zone`` the time zone of local
    times."""
    connection.register("titles", titles)
    with _transaction(connection):
        connection.execute("DELETE FROM entries")
        connection.execute("INSERT INTO entries SELECT id, endpoint, title FROM titles")
        _note(connection, _TITLES_OF, version)
        _note(connection, _TIME_ZONE, zone)
    connection.unregister("titles")


def _fact(connection: duckdb.DuckDBPyConnection, name: str) -> str | None:
    # All rows: while more may be fetched, the connection can do nothing else.
    rows = connection.execute("SELECT value FROM facts WHERE name = $name", {"name": name}).fetchall()
    return str(rows[0][0]) if rows else None


def _segments(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    return dict(connection.execute("SELECT worker, through FROM segments").fetchall())


def _note_segment(connection: duckdb.DuckDBPyConnection, worker: str, number: int) -> None:
    connection.execute("INSERT OR REPLACE INTO segments VALUES ($w, $n)", {"w": worker, "n": number})


def _note(connection: duckdb.DuckDBPyConnection, name: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO facts VALUES ($name, $value)", {"name": name, "value": value})


def stage(connection: duckdb.DuckDBPyConnection, views: Sequence[View]) -> None:
    """Put views into the temporary table ``added``, with the columns of ``page_views``."""
    connection.register("arrow_rows", _rows(views))
    connection.execute("CREATE OR REPLACE TEMP TABLE added AS SELECT * FROM arrow_rows")
    connection.unregister("arrow_rows")


@contextmanager
def opened(views: Path, *, name: str = FILE, wait: float = 0.0) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield the file in a directory, opened for reading and writing, and made where there is none.

    ``wait`` is the seconds to go on trying while the file is open elsewhere. Raises ``FileBusy``, ``FileDamaged``, and
    ``StoreError`` when the disk is full or refuses.
    """
    path = views / name
    connection = _connected(
        path, wait, storage_compatibility_version=_READABLE_SINCE, threads="1", memory_limit=_MEMORY
    )
    try:
        _prepare(connection)
        yield connection
    except duckdb.Error as error:
        raise _told(path, error) from None
    finally:
        try:
            connection.close()
        except duckdb.Error as error:
            raise _told(path, error) from None


@contextmanager
def opened_to_read(file: Path, *, wait: float = 0.0) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield the file, opened for reading.

    ``wait`` is as for ``opened``. Raises ``FileBusy`` and ``FileDamaged``.
    """
    with _connected(file, wait, read_only=True) as connection:
        yield connection


def _connected(path: Path, wait: float, *, read_only: bool = False, **config: str) -> duckdb.DuckDBPyConnection:
    settings: dict[str, Any] = {
        **config,
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
    deadline = time.monotonic() + wait
    while True:
        try:
            return open_database(path, read_only=read_only, config=settings)
        except duckdb.Error as error:
            told = _told(path, error)
            if not isinstance(told, FileBusy) or time.monotonic() >= deadline:
                raise told from None
            time.sleep(_WAIT_SECONDS)


def _prepare(connection: duckdb.DuckDBPyConnection) -> None:
    try:  # asking for the list of tables takes ten times as long
        described, is_new = _fact(connection, _DESCRIBED), False
    except duckdb.CatalogException:
        described, is_new = None, True
    if described == _DESCRIPTION:
        return
    with _transaction(connection):
        if is_new:
            connection.execute(_TABLES)
        has_ours = _has_local_view(connection)
        for what, text in _COMMENTS.items():
            if _LOCAL in what and not has_ours:
                continue
            quoted = text.replace("'", "''")
            connection.execute(f"COMMENT ON {what} IS '{quoted}'")
        _note(connection, _DESCRIBED, _DESCRIPTION)


def _has_local_view(connection: duckdb.DuckDBPyConnection) -> bool:
    """Make the SQL view of local times in the file of an older program, unless an analyst's own has its name.

    Returns whether the file has ours.
    """
    asked = "SELECT column_name FROM duckdb_columns() WHERE table_name = $name AND NOT internal"
    columns = {name for (name,) in connection.execute(asked, {"name": _LOCAL}).fetchall()}
    if not columns:
        connection.execute(_LOCAL_VIEW)
    ours = f"COLUMN {_LOCAL}."
    return not columns or columns == {what.removeprefix(ours) for what in _COMMENTS if what.startswith(ours)}


@contextmanager
def _transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    connection.execute("BEGIN")
    yield  # an error closes the connection, and nothing of this stays
    connection.execute("COMMIT")


def _rows(views: Sequence[View]) -> pa.Table:
    import pyarrow as pa

    at, kinds, keys, origins = zip(*views, strict=True) if views else ((), (), (), ())
    instants: Any = np.array(at, np.int64)
    days: Any = jst_day(instants)
    return pa.table(
        {
            "viewed_at": pa.array(instants).cast(pa.timestamp("ms")),
            "day": pa.array(days.astype(np.int32)).cast(pa.date32()),
            "kind": pa.array(kinds, pa.string()),
            "key": pa.array(keys, pa.string()),
            "origin": pa.array(origins, pa.string()),
        }
    )


def _told(path: Path, error: Exception) -> ParquetryError:
    text = str(error)
    lowered = text.lower()
    if "conflicting lock" in lowered or "could not set lock" in lowered:
        return FileBusy(f"{path} is open in another program: {text.splitlines()[0]}")
    if "no space left" in lowered or "permission denied" in lowered or "read-only file system" in lowered:
        return StoreError(f"{path} cannot be written: {text.splitlines()[0]}")
    return FileDamaged(f"{path} cannot be used: {text.splitlines()[0]} `cms views rebuild file` rebuilds it.")

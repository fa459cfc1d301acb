"""The counts the server answers from: ``counts/today.parquet``, folded each day into ``counts/base-*``.

Both files have a row for each (kind, key, JST day) with its number of views, sorted. ``today.parquet`` is the one that
is replaced atomically, and it alone says what is valid: its base, and the last segment of each worker that the two
files hold. So a crash at any instant leaves either the old state or the new one. The functions here change the files in
a directory for work, which nobody answers from: ``gathering.pulled_counts`` makes them those of the store.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

import duckdb
import msgspec

from engine.database import open_database
from engine.views.collecting.spool import View
from engine.views.collecting.targets import Kind, day_number, day_of, jst_day
from engine.views.counting.count_rows import CountsDamaged, damaged, merged, read, schema, summed, write

if TYPE_CHECKING:
    import pyarrow as pa

COUNTS: Final = "counts"
TODAY: Final = "today.parquet"
FORMAT: Final = 1
NO_DIGEST: Final = "0" * 64
_METADATA: Final = b"parquetry"
_NEVER: Final = 1 << 31
"""A day after all days."""

Daily = Mapping[tuple[Kind, str, int], int]
"""Views by kind, key and JST day (days since 1970)."""


class Claim(msgspec.Struct, frozen=True):
    """Rows on their way into files: everything through these segments that no file has yet."""

    through: dict[str, int]
    number: int
    """The number in the names of the files that hold the rows."""


class Filing(msgspec.Struct, frozen=True):
    """The raw rows that are in files by day."""

    through: dict[str, int] = {}
    """By worker, the number of the last of its segments whose rows are in files, with every one before it."""
    number: int = 0
    """The number of the newest files."""
    at: int = 0
    """When they were claimed (UTC milliseconds)."""
    claim: Claim | None = None
    """Files that may not be there yet; whoever finds the claim writes them."""
    kept_from: int = 0
    """The first JST day whose rows are all kept, as days since 1970."""


class CountState(msgspec.Struct, frozen=True):
    """The metadata of ``today.parquet``: its base, and the segments in both files."""

    through: dict[str, int] = {}
    """By worker, the number of the last of its segments that the files hold, with every one before it."""
    base: str | None = None
    """The name of the base file, ``None`` before the first."""
    base_day: int = 0
    """The last JST day in the base, as days since 1970."""
    base_bytes: int = 0
    base_sha256: str = ""
    format: int = FORMAT
    filing: Filing = Filing()
    seen: dict[str, int] = {}
    """By worker, the JST day of its last segment, in a bucket, where nothing else tells which workers are gone."""
    write: str = ""
    """Another one each time, so that no content comes back."""
    sha256: str = NO_DIGEST
    """The digest of the file as it was with ``NO_DIGEST`` here; that alone where an older program wrote it."""


# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decode: Final = msgspec.json.Decoder(CountState).decode


def held(state: CountState, worker: str) -> int:
    """The number of the last segment of a worker that is counted, and has its rows in files."""
    return min(state.through.get(worker, 0), state.filing.through.get(worker, 0))


def daily_views(views: Iterable[View]) -> Counter[tuple[Kind, str, int]]:
    """Views added up by kind, key and JST day."""
    return Counter((view.kind, view.key, jst_day(view.at)) for view in views)


def new_write(state: CountState) -> CountState:
    """The state with a mark of its own, as no content of today's file may come back."""
    return msgspec.structs.replace(state, write=secrets.token_urlsafe(8), sha256=NO_DIGEST)


def read_state(views: Path) -> CountState:
    """The state of the counts files; an empty one where there are none yet. Raises ``CountsDamaged``."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = views / COUNTS / TODAY
    try:
        return decode_state(pq.read_schema(path).metadata, path)
    except FileNotFoundError:
        return CountState()
    except (pa.ArrowException, OSError) as error:
        raise damaged(path, str(error)) from None


def decode_state(metadata: Mapping[bytes, bytes] | None, path: Path) -> CountState:
    """The state in a file's metadata. Raises ``CountsDamaged``."""
    try:
        state = _decode((metadata or {})[_METADATA])
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise damaged(path, str(error)) from None
    if state.format > FORMAT:
        raise CountsDamaged(f"{path}: format {state.format} is newer than this program knows. Upgrade it.")
    return state


def add(views: Path, state: CountState, more: Daily, through: Mapping[str, int]) -> CountState:
    """Add views to today's file, which from then on holds the segments ``through`` names. Raises ``StoreError`` when
    the disk refuses, ``CountsDamaged``."""
    changed = new_write(msgspec.structs.replace(state, through=dict(through)))
    _write_today(views, merged(_today(views), iter([summed(_table(more))])), changed)
    return changed


def fold(views: Path, state: CountState, now: int) -> CountState:
    """Move the days before the present one (``now``, UTC milliseconds) from today's file into a new base.

    Raises ``StoreError`` when the disk refuses, ``CountsDamaged``.
    """
    import pyarrow.compute as pc

    today = jst_day(now)
    if state.base_day >= today - 1 or _oldest_day(views / COUNTS / TODAY) >= today:
        return state
    name = f"base-{day_of(today - 1)}-{secrets.token_hex(4)}.parquet"  # a new content has a new name
    past = (part.filter(pc.less(part["day"], day_of(today))) for part in _today(views))
    write(views / COUNTS / name, merged(_base(views, state), past))
    size, digest = (views / COUNTS / name).stat().st_size, _sha256(views / COUNTS / name)
    changed = msgspec.structs.replace(
        new_write(state), base=name, base_day=today - 1, base_bytes=size, base_sha256=digest
    )
    _write_today(views, (part.filter(pc.greater_equal(part["day"], day_of(today))) for part in _today(views)), changed)
    for path in (views / COUNTS).iterdir():
        if path.name != name and path.name.startswith(("base-", ".base-")):  # what a killed process left, too
            path.unlink()
    return changed


def replace_all(views: Path, rows: pa.Table, state: CountState) -> None:
    """Rebuild all counts from rows (kind, key, day, views), all in today's file, which says ``state``.

    Raises ``StoreError`` when the disk refuses.
    """
    chosen = summed(rows.select(["kind", "key", "day", "views"]).cast(schema()))
    _write_today(views, [chosen], state)


def restate(views: Path, state: CountState) -> None:
    """Write today's file again with its rows and another state. Raises ``StoreError`` when the disk refuses, and
    ``CountsDamaged``."""
    _write_today(views, _today(views), state)


def all_rows(views: Path, state: CountState, since: date = date.min) -> pa.Table:
    """Return the rows of both files from a JST day on; rows of one key and day are added up. Raises
    ``CountsDamaged``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def late(parts: Iterator[pa.Table]) -> Iterator[pa.Table]:
        return (part.filter(pc.greater_equal(part["day"], since)) for part in parts)

    base = _base(views, state) if since <= day_of(state.base_day) else iter(())
    return pa.concat_tables([schema().empty_table(), *merged(late(base), late(_today(views)))])


def oldest_day(views: Path) -> date | None:
    """The first JST day in today's file, or one before it; ``None`` where it has no rows. Raises ``CountsDamaged``."""
    found = _oldest_day(views / COUNTS / TODAY)
    return None if found == _NEVER else day_of(found)


@contextmanager
def queried(views: Path, state: CountState, **config: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with the rows of both files as ``counts``; a key and day may have one in each.

    ``config`` is DuckDB's. Raises ``CountsDamaged``, where there are no files too.
    """
    try:
        with open_database(config=config) as connection:
            connection.read_parquet([str(path) for path in _files(views, state)]).create_view("counts")
            yield connection
    except duckdb.Error as error:
        raise damaged(views / COUNTS / TODAY, str(error)) from None


def rows(views: Path, state: CountState) -> int:
    """The number of rows of both files; 0 where there are none. Raises ``CountsDamaged``."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    found = 0
    for path in _files(views, state):
        try:
            found += pq.read_metadata(path).num_rows
        except (pa.ArrowException, OSError) as error:
            raise damaged(path, str(error)) from None
    return found


def _files(views: Path, state: CountState) -> list[Path]:
    names = (TODAY, state.base)
    return [views / COUNTS / name for name in names if name is not None and (views / COUNTS / name).exists()]


def _table(daily: Daily) -> pa.Table:
    import pyarrow as pa

    keys = list(daily)
    columns = [
        pa.array([kind.value for kind, _, _ in keys], pa.string()),
        pa.array([key for _, key, _ in keys], pa.string()),
        pa.array([day for _, _, day in keys], pa.int32()).cast(pa.date32()),
        pa.array(list(daily.values()), pa.int64()),
    ]
    return pa.Table.from_arrays(columns, schema=schema())


def _today(views: Path) -> Iterator[pa.Table]:
    with suppress(FileNotFoundError):
        yield from read(views / COUNTS / TODAY)


def _base(views: Path, state: CountState) -> Iterator[pa.Table]:
    if state.base is not None:
        try:
            yield from read(views / COUNTS / state.base)
        except FileNotFoundError as error:
            raise damaged(views / COUNTS / state.base, str(error)) from None


def _oldest_day(path: Path) -> int:
    """The first day in a counts file as days since 1970, or one before it; far in the future for no file and none with
    rows. Raises ``CountsDamaged``."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(path)
    except FileNotFoundError:
        return _NEVER
    except (pa.ArrowException, OSError) as error:
        raise damaged(path, str(error)) from None
    column = metadata.schema.names.index("day")
    told = [metadata.row_group(group).column(column).statistics for group in range(metadata.num_row_groups)]
    if any(statistics is None or not statistics.has_min_max for statistics in told):
        return 0
    return min((day_number(statistics.min) for statistics in told), default=_NEVER)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_today(views: Path, parts: Iterable[pa.Table], state: CountState) -> None:
    unsealed = msgspec.structs.replace(state, sha256=NO_DIGEST)
    write(views / COUNTS / TODAY, parts, {_METADATA: msgspec.json.encode(unsealed)})

"""The counts the server answers from: sealed segments → ``counts/today.parquet``, and once a day → ``counts/base-*``.

Both files have a row for each (kind, key, JST day) with its number of views, sorted. ``today.parquet`` is the one that
is replaced atomically, and it alone says what is valid: the base it belongs to, and through which segment of each
worker the two files hold everything. So a crash at any instant leaves either the old state or the new one.
"""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from engine.page_views.collecting.spool import View
from engine.page_views.collecting.targets import Kind, day_number, day_of, jst_day
from snapshots.problems import ParquetryError
from snapshots.store.durable import (
    make_directory,
    remove_leftovers,
    replace_durably,
    sync_directory,
    sync_file,
    writing,
)

if TYPE_CHECKING:
    import pyarrow as pa

COUNTS: Final = "counts"
TODAY: Final = "today.parquet"
FORMAT: Final = 1
_METADATA: Final = b"parquetry"
_ROW_GROUP: Final = 1 << 20
_NEVER: Final = 1 << 31
"""A day that does not come."""

Daily = Mapping[tuple[Kind, str, int], int]
"""(kind, key, JST day as days since 1970) → views."""


class CountsDamaged(ParquetryError):
    """The counts files cannot be read, or do not belong together."""


class CountState(msgspec.Struct, frozen=True):
    """What ``today.parquet`` says of itself and its base."""

    through: dict[str, int] = {}
    """Worker → the number of the last of its segments that the files hold, and every one before it."""
    base: str | None = None
    """The name of the base file, ``None`` before the first."""
    base_day: int = 0
    """The last JST day in the base, as days since 1970."""
    format: int = FORMAT


# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decode: Final = msgspec.json.Decoder(CountState).decode


def daily_views(views: Iterable[View]) -> Counter[tuple[Kind, str, int]]:
    """Views added up by kind, key and JST day."""
    return Counter((view.kind, view.key, jst_day(view.at)) for view in views)


def read_state(views: Path) -> CountState:
    """What the counts files hold; nothing where there are none yet. Raises ``CountsDamaged``."""
    import pyarrow as pa  # noqa: PLC0415 - 0.2 s, for the writer and the first look only
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

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
    except (KeyError, msgspec.DecodeError) as error:
        raise damaged(path, str(error)) from None
    if state.format > FORMAT:
        raise CountsDamaged(f"{path}: format {state.format} is newer than this program knows. Upgrade it.")
    return state


def add(views: Path, state: CountState, more: Daily, through: Mapping[str, int]) -> CountState:
    """Add views to today's file, which from then on holds the segments ``through`` names. Raises ``StoreError`` when
    the disk refuses, ``CountsDamaged``."""
    import pyarrow as pa  # noqa: PLC0415 - heavy to import

    changed = msgspec.structs.replace(state, through=dict(through))
    table = pa.concat_tables([_read(views / COUNTS / TODAY), _table(more)])
    _write_today(views, _summed(table), changed)
    return changed


def fold(views: Path, state: CountState, now: int) -> CountState:
    """Move the days before the present one (``now``, UTC milliseconds) from today's file into a new base.

    Raises ``StoreError`` when the disk refuses, ``CountsDamaged``.
    """
    import pyarrow.compute as pc  # noqa: PLC0415 - heavy to import

    today = jst_day(now)
    if _oldest_day(views / COUNTS / TODAY) >= today:
        return state
    table = _read(views / COUNTS / TODAY)
    past = pc.less(table["day"], day_of(today))
    if state.base_day >= today - 1 or not pc.any(past).as_py():
        return state
    old = None if state.base is None else views / COUNTS / state.base
    name = f"base-{day_of(today - 1)}-{secrets.token_hex(4)}.parquet"  # another content, another name
    _write_base(views / COUNTS / name, old, table.filter(past))
    changed = msgspec.structs.replace(state, base=name, base_day=today - 1)
    _write_today(views, table.filter(pc.invert(past)), changed)
    for path in (views / COUNTS).glob("base-*.parquet"):
        if path.name != name:
            path.unlink()
    return changed


def replace_all(views: Path, rows: pa.Table, through: Mapping[str, int]) -> None:
    """Make all counts anew from rows (kind, key, day, views), holding the segments ``through`` names.

    Raises ``StoreError`` when the disk refuses.
    """
    _write_today(
        views, _summed(rows.select(["kind", "key", "day", "views"]).cast(_schema())), CountState(dict(through))
    )


def all_rows(views: Path, state: CountState) -> pa.Table:
    """Every row of both files; a key and day may have one in each. Raises ``CountsDamaged``."""
    import pyarrow as pa  # noqa: PLC0415 - heavy to import

    parts = [_read(views / COUNTS / TODAY)]
    if state.base is not None:
        parts.append(_read(views / COUNTS / state.base, must_exist=True))
    return _summed(pa.concat_tables(parts))


def damaged(path: Path, reason: str) -> CountsDamaged:
    """The error for a counts file that cannot be used."""
    return CountsDamaged(f"{path} cannot be read: {reason}. `cms views rebuild counts` makes it anew.")


def _schema() -> pa.Schema:
    import pyarrow as pa  # noqa: PLC0415 - heavy to import

    return pa.schema([("kind", pa.string()), ("key", pa.string()), ("day", pa.date32()), ("views", pa.int64())])


def _table(daily: Daily) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 - heavy to import

    keys = list(daily)
    columns = [
        pa.array([kind.value for kind, _, _ in keys], pa.string()),
        pa.array([key for _, key, _ in keys], pa.string()),
        pa.array([day for _, _, day in keys], pa.int32()).cast(pa.date32()),
        pa.array(list(daily.values()), pa.int64()),
    ]
    return pa.Table.from_arrays(columns, schema=_schema())


def _summed(table: pa.Table) -> pa.Table:
    sums = table.group_by(["kind", "key", "day"]).aggregate([("views", "sum")])
    sums = sums.rename_columns({"views_sum": "views"}).select(["kind", "key", "day", "views"])
    return sums.sort_by([("kind", "ascending"), ("key", "ascending"), ("day", "ascending")]).cast(_schema())


def _read(path: Path, *, must_exist: bool = False) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 - heavy to import
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    try:
        # Without the other threads and the data sets of ``read_table``, which take longer than the reading.
        with pq.ParquetFile(path) as file:
            return file.read(use_threads=False).cast(_schema()).replace_schema_metadata(None)
    except FileNotFoundError as error:
        if must_exist:
            raise damaged(path, str(error)) from None
        return _schema().empty_table()
    except (pa.ArrowException, OSError) as error:
        raise damaged(path, str(error)) from None


def _oldest_day(path: Path) -> int:
    """The first day in a counts file as days since 1970, or one before it; far in the future for no file and none with
    rows. Raises ``CountsDamaged``."""
    import pyarrow as pa  # noqa: PLC0415 - heavy to import
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

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


def _write_today(views: Path, table: pa.Table, state: CountState) -> None:
    import pyarrow as pa  # noqa: PLC0415 - heavy to import
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    sink = pa.BufferOutputStream()
    described = table.replace_schema_metadata({_METADATA: msgspec.json.encode(state)})
    pq.write_table(described, sink, compression="zstd", row_group_size=_ROW_GROUP)
    path = views / COUNTS / TODAY
    with writing(path):
        make_directory(path.parent)
        remove_leftovers(path)
        replace_durably(path, sink.getvalue().to_pybytes())


def _write_base(path: Path, old: Path | None, more: pa.Table) -> None:
    """The old base and more rows, merged on disk where memory does not hold them."""
    import duckdb  # noqa: PLC0415 - heavy to import

    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    with writing(path):
        remove_leftovers(path)
        try:
            with duckdb.connect(config={"memory_limit": "512MB", "threads": "1"}) as connection:
                connection.execute("SET preserve_insertion_order = false")
                connection.execute("SET temp_directory = $spill", {"spill": f"{temporary}.spill"})
                connection.register("more", more)
                before = "" if old is None else "UNION ALL SELECT * FROM read_parquet($old)"
                rows = f"SELECT * FROM more {before}"  # noqa: S608 - constants
                chosen = "kind, key, day, sum(views)::BIGINT AS views"
                merged = f"SELECT {chosen} FROM ({rows}) GROUP BY ALL"  # noqa: S608 - constants
                connection.execute(
                    f"COPY ({merged} ORDER BY kind, key, day) TO $target "
                    f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {_ROW_GROUP})",
                    {"target": str(temporary)} | ({} if old is None else {"old": str(old)}),
                )
            descriptor = os.open(temporary, os.O_RDONLY)
            try:
                sync_file(descriptor)
            finally:
                os.close(descriptor)
            temporary.replace(path)
            sync_directory(path.parent)
        except duckdb.Error as error:
            raise damaged(path, str(error)) from None
        finally:
            temporary.unlink(missing_ok=True)

"""Rows of counts files: (kind, key, JST day, views), sorted by the first three, which no two rows share.

They are read, merged and written part by part: there may be a million keys, of a thousand characters each.
"""

from __future__ import annotations

import secrets
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from snapshots.problems import ParquetryError
from snapshots.store.durable import make_directory, remove_leftovers, writing

if TYPE_CHECKING:
    from datetime import date

    import pyarrow as pa
    import pyarrow.parquet as pq

_ROWS_AT_ONCE: Final = 1 << 12
_ROW_GROUP: Final = 1 << 16
_READ_BYTES: Final = 1 << 20


class CountsDamaged(ParquetryError):
    """The counts files cannot be read, or do not belong together."""


def damaged(path: Path, reason: str) -> CountsDamaged:
    """The error for a counts file that cannot be used."""
    return CountsDamaged(f"{path} cannot be read: {reason}. `cms views rebuild counts` rebuilds it.")


def schema() -> pa.Schema:
    """The columns of a counts file."""
    import pyarrow as pa

    return pa.schema([("kind", pa.string()), ("key", pa.string()), ("day", pa.date32()), ("views", pa.int64())])


def summed(table: pa.Table) -> pa.Table:
    """Return rows as above of rows in any order, several of which may have the same kind, key and day."""
    sums = table.group_by(["kind", "key", "day"]).aggregate([("views", "sum")])
    sums = sums.rename_columns({"views_sum": "views"}).select(["kind", "key", "day", "views"])
    return sums.sort_by([("kind", "ascending"), ("key", "ascending"), ("day", "ascending")]).cast(schema())


@contextmanager
def opened(path: Path) -> Iterator[pq.ParquetFile]:
    """A counts file for the length of the block. Raises ``FileNotFoundError`` and, also for what fails in the block,
    ``CountsDamaged``."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=_READ_BYTES) as file:
            yield file
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, KeyError) as error:
        raise damaged(path, str(error)) from None


def parts_of(file: pq.ParquetFile) -> Iterator[pa.Table]:
    """The rows of an opened file, part by part."""
    import pyarrow as pa

    for batch in file.iter_batches(_ROWS_AT_ONCE, use_threads=False):
        yield pa.Table.from_batches([batch]).cast(schema()).replace_schema_metadata(None)


def read(path: Path) -> Iterator[pa.Table]:
    """The rows of a file, part by part. Raises ``FileNotFoundError`` and ``CountsDamaged``."""
    with opened(path) as file:
        yield from parts_of(file)


def merged(left: Iterator[pa.Table], right: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The rows of two sorted sequences as one, in parts of about the size of theirs."""
    import pyarrow as pa

    first, second = _next(left), _next(right)
    while first is not None and second is not None:
        end = min(_row(first, len(first) - 1), _row(second, len(second) - 1))
        parts = []
        for table in (first, second):
            parts.append(table.slice(0, bisect_right(range(len(table)), end, key=partial(_row, table))))
        both = [part for part in parts if len(part)]
        yield both[0] if len(both) == 1 else summed(pa.concat_tables(both))
        first, second = first.slice(len(parts[0])), second.slice(len(parts[1]))
        first, second = first if len(first) else _next(left), second if len(second) else _next(right)
    for rest, more in ((first, left), (second, right)):
        if rest is not None:
            yield rest
            yield from more


def write(path: Path, parts: Iterable[pa.Table], metadata: Mapping[bytes, bytes] | None = None) -> None:
    """Make sorted rows the content of a file, in one step. Raises ``StoreError``."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    with writing(path):
        make_directory(path.parent)
        remove_leftovers(path)
        try:
            with pq.ParquetWriter(str(temporary), schema().with_metadata(metadata), compression="zstd") as file:
                waiting: list[pa.Table] = []
                for part in parts:
                    waiting.append(part)
                    if sum(map(len, waiting)) >= _ROW_GROUP:
                        file.write_table(pa.concat_tables(waiting))
                        waiting.clear()
                if waiting:
                    file.write_table(pa.concat_tables(waiting))
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def _next(tables: Iterator[pa.Table]) -> pa.Table | None:
    return next((table for table in tables if len(table)), None)


def _row(table: pa.Table, number: int) -> tuple[str, str, date]:
    kind, key, day = (table[name][number].as_py() for name in ("kind", "key", "day"))
    return kind, key, day

"""A version's data files → the bodies of its entries, to be copied into the cache (design section 4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from engine.version_files import VersionFiles
from snapshots.columns import JSON_COLUMN
from snapshots.model import META_DATES, Api

if TYPE_CHECKING:
    import duckdb

_BODIES_AT_ONCE: Final = 2048
"""Rows: what bounds the memory that bodies take while they are copied."""


def bodies_of(
    files: VersionFiles, api: Api, cursor: duckdb.DuckDBPyConnection
) -> Iterator[tuple[list[bytes], list[memoryview]]]:
    """The bodies of an API's rows in the order of its table, some at a time: how each begins, and its rest."""
    # Heavy to import, and not needed to open what is made.
    import numpy as np  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    columns = ["id", *META_DATES, JSON_COLUMN]
    for _, file in files.of(api):
        with pq.ParquetFile(files.path(file)) as opened:
            for number in range(opened.num_row_groups):
                group = opened.read_row_group(number, columns=columns, use_threads=False)
                heads = cursor.from_arrow(group).project(f"{_head()} AS head").to_arrow_table()["head"].to_pylist()
                done = 0
                for part in group[JSON_COLUMN].chunks:
                    _, ends, content = part.buffers()
                    width = np.int64 if pa.types.is_large_string(part.type) else np.int32
                    at = np.frombuffer(ends, width, part.offset + len(part) + 1)[part.offset :].tolist()
                    data = memoryview(content)
                    for first in range(0, len(part), _BODIES_AT_ONCE):
                        end = min(first + _BODIES_AT_ONCE, len(part))
                        rests = [data[at[row] + 1 : at[row + 1]] for row in range(first, end)]
                        yield heads[done + first : done + end], rests
                    done += len(part)


def _head() -> str:
    """How a body begins, in SQL, as bytes: the meta fields, before the compiled fields without their first bracket."""
    # By itself DuckDB would turn milliseconds into nanoseconds, which the year 9999 does not fit into.
    dates = " || ".join(
        f"',\"{name}\":\"' || strftime(\"{name}\"::TIMESTAMP, '%Y-%m-%dT%H:%M:%S.%gZ') || '\"'" for name in META_DATES
    )
    joint = f"CASE WHEN {JSON_COLUMN} = '{{}}' THEN '' ELSE ',' END"
    return f'encode(\'{{"id":"\' || "id" || \'"\' || {dates} || {joint})'

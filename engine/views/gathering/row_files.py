"""Write views as Parquet files of rows, one for each day in Japan, in the order of time.

The day is in the name of the folder (``day=YYYY-MM-DD``), where engines read it as a column, and not in the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from engine.views.collecting.spool import View
from engine.views.collecting.targets import Kind, jst_day

if TYPE_CHECKING:
    import pyarrow as pa


def row_files(views: Sequence[View]) -> dict[int, bytes]:
    """The content of the file with the rows of a day, by JST day (days since 1970)."""
    ordered = sorted(views)
    return {day: _parquet(list(of_day)) for day, of_day in groupby(ordered, lambda view: jst_day(view.at))}


def views_in_rows(data: bytes) -> list[View]:
    """Return the views in the content of a file of rows. Raises ``OSError`` and pyarrow's errors for a damaged one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True) as file:
        columns = file.read(use_threads=False).to_pydict()
    at = columns["viewed_at"]
    kinds = map(Kind, columns["kind"])
    milliseconds = pa.array(at, pa.timestamp("ms")).cast(pa.int64()).to_pylist()
    return [View(*row) for row in zip(milliseconds, kinds, columns["key"], columns["origin"], strict=True)]


def _parquet(views: list[View]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    at, kinds, keys, origins = zip(*views, strict=True)
    sink = pa.BufferOutputStream()
    pq.write_table(
        pa.table(
            [pa.array(at, pa.int64()).cast(pa.timestamp("ms")), *_texts([kind.value for kind in kinds], keys, origins)],
            names=["viewed_at", "kind", "key", "origin"],
        ),
        sink,
        compression="zstd",
        write_page_checksum=True,
    )
    return bytes(sink.getvalue())


def _texts(*columns: Sequence[str]) -> list[pa.Array]:
    import pyarrow as pa

    return [pa.array(column, pa.string()) for column in columns]

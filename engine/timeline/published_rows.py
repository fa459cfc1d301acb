"""Read digests, live windows and IDs of the rows of a data file of published versions from the store.

A reader's cache is not needed, so that versions can be compared which nobody has opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from engine.timeline.windows import Ints, Windows
from snapshots.columns import DIGEST_COLUMN, JSON_COLUMN
from snapshots.compile.rows import row_digest, said_digest
from snapshots.model import META_DATES
from snapshots.store.durable import StoreError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

WINDOW: Final = ("live_from", "live_until")
"""The columns with the live window of each row."""
_ROWS_AT_ONCE: Final = 2048
"""Rows of an older file whose JSON is in memory at the same time."""


class PublishedRows:
    """The rows of one data file, opened."""

    def __init__(self, file: pq.ParquetFile) -> None:
        self._file = file

    def windows(self) -> Windows:
        """Return the live windows of all rows."""
        return windows_of(self._file.read(columns=list(WINDOW), use_threads=False))

    def digests(self) -> Ints:
        """Return a number for each row, equal for rows that say the same. A file written before rows had digests is
        read whole, which takes some seconds for a million rows."""
        if DIGEST_COLUMN not in self._file.schema_arrow.names:
            return np.fromiter(self._computed_digests(), np.int64, self._file.metadata.num_rows)
        table = self._file.read(columns=[DIGEST_COLUMN], use_threads=False)
        return _numbers(table[DIGEST_COLUMN])

    def _computed_digests(self) -> Iterator[int]:
        columns = ["id", *META_DATES, JSON_COLUMN]
        for batch in self._file.iter_batches(_ROWS_AT_ONCE, columns=columns, use_threads=False):
            dates = zip(*(_instants(batch[name]).tolist() for name in META_DATES), strict=True)
            for one, moments, said in zip(batch["id"], dates, batch[JSON_COLUMN], strict=True):
                yield row_digest(said_digest((one.as_py(), *moments), said.as_buffer().to_pybytes()))

    def ids(self, rows: Ints) -> pa.Array:
        """Return the IDs of rows, whose positions ascend. Row groups without any of them are not read."""
        import pyarrow as pa

        found: list[pa.Array] = []
        first = 0
        about = self._file.metadata
        for group in range(about.num_row_groups):
            end = first + about.row_group(group).num_rows
            inside = rows[np.searchsorted(rows, first) : np.searchsorted(rows, end)] - first
            if len(inside):
                column = self._file.read_row_group(group, columns=["id"], use_threads=False)["id"].combine_chunks()
                found.append(column if len(inside) == end - first else column.take(pa.array(inside)))
            first = end
        return pa.concat_arrays(found) if found else pa.array([], pa.string())


@contextmanager
def opened_published(path: Path) -> Iterator[PublishedRows]:
    """Open a data file of published versions. Raises ``StoreError``, in the block too, where it cannot be read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            yield PublishedRows(file)
    except (pa.ArrowException, OSError, KeyError) as error:
        raise StoreError(f"{path} cannot be read: {error}. `cms snapshot verify` says what is damaged.") from error


def windows_of(table: pa.Table) -> Windows:
    """Return the live windows of a table's rows, from its columns ``WINDOW``."""
    return Windows(*(_instants(table[name]) for name in WINDOW))


def _instants(column: Any) -> Ints:
    import pyarrow as pa

    return _numbers(column.cast(pa.int64()))


def _numbers(column: Any) -> Ints:
    numbers: Ints = np.asarray(column.to_numpy()).astype(np.int64, copy=False)
    return numbers

"""The rows of a data file by their position, read a row group at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from snapshots.columns import DRAFT_KEY_COLUMN, JSON_COLUMN
from snapshots.model import META_DATES
from snapshots.store.durable import StoreError

Ints: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"

INSTANTS = (*META_DATES, "live_from", "live_until")
"""Read as UTC milliseconds."""
CONTENT = ("id", *INSTANTS, DRAFT_KEY_COLUMN, JSON_COLUMN)
"""The columns with all facts of a language version."""
KEPT_GROUPS = 2
"""Row groups of a file kept in memory. One is enough where entries did not change places."""


class RowGroups:
    """The rows of one data file, read a row group at a time."""

    def __init__(self, path: Path) -> None:
        self._file = pq.ParquetFile(path)
        about = self._file.metadata
        rows = [about.row_group(number).num_rows for number in range(about.num_row_groups)]
        self.starts: Ints = np.cumsum([0, *rows[:-1]], dtype=np.int64)
        self._columns = [name for name in CONTENT if name in self._file.schema_arrow.names]
        self._kept: OrderedDict[int, pa.RecordBatch] = OrderedDict()

    def ids(self) -> pa.Array:
        """Return the IDs of all rows."""
        return self._file.read(columns=["id"]).column("id").combine_chunks()

    def bounds(self) -> list[tuple[int, int]]:
        """Return the first row of each row group, and the first one after it."""
        ends = [*self.starts[1:].tolist(), self._file.metadata.num_rows]
        return [(first, end) for first, end in zip(self.starts.tolist(), ends, strict=True) if first < end]

    def group_of(self, rows: Ints) -> Ints:
        """Return the number of the row group that each row is in."""
        return np.searchsorted(self.starts, rows, side="right").astype(np.int64) - 1

    def take(self, rows: Ints) -> pa.RecordBatch:
        """Return these rows, which must all be in one row group."""
        group = int(self.group_of(rows[:1])[0])
        batch = self._kept.pop(group, None)
        if batch is None:
            while len(self._kept) >= KEPT_GROUPS:
                self._kept.popitem(last=False)
            batch = self._read(group)
        self._kept[group] = batch
        within = rows - self.starts[group]
        first, last = int(within[0]), int(within[-1])
        if last - first == len(within) - 1 and (within[1:] > within[:-1]).all():
            return batch.slice(first, len(within))
        return batch.take(within)

    def _read(self, group: int) -> pa.RecordBatch:
        table = self._file.read_row_group(group, columns=self._columns).combine_chunks()
        arrays = [table[name].combine_chunks() for name in self._columns]
        instants = [
            array.cast(pa.int64()) if name in INSTANTS else array
            for name, array in zip(self._columns, arrays, strict=True)
        ]
        return pa.RecordBatch.from_arrays(instants, names=self._columns)

    def close(self) -> None:
        self._kept.clear()
        self._file.close()


@contextmanager
def opened_rows(path: Path) -> Iterator[RowGroups]:
    """Open a data file to read those of the columns ``CONTENT`` that it has.

    Raises ``StoreError``, in the block too, when the file cannot be read.
    """
    try:
        rows = RowGroups(path)
        try:
            yield rows
        finally:
            rows.close()
    except (pa.ArrowException, OSError, KeyError) as error:
        raise StoreError(f"{path} cannot be read: {error}. `cms snapshot verify` says what is damaged.") from error


def rows_at(opened: RowGroups, rows: Ints) -> Iterator[pa.RecordBatch]:
    """Return the rows at these positions, which ascend, in one batch a row group."""
    groups = opened.group_of(rows)
    for at in np.split(rows, np.flatnonzero(np.diff(groups)) + 1) if len(rows) else ():
        yield opened.take(at)


def side_by_side(
    old: RowGroups, new: RowGroups, old_rows: Ints, new_rows: Ints
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch, Ints]]:
    """Return the rows at these positions of two files, in batches of equal length, and each batch's places in them.

    ``old_rows`` ascends; the batches follow the old file's order as far as the new one's does.
    """
    old_group, new_group = old.group_of(old_rows), new.group_of(new_rows)
    order = np.lexsort((old_rows, new_group, old_group))
    key = old_group[order] * (len(new.starts) + 1) + new_group[order]
    firsts = np.flatnonzero(np.diff(key, prepend=-1))
    for at in np.split(order, firsts[1:]) if len(order) else ():
        yield old.take(old_rows[at]), new.take(new_rows[at]), at

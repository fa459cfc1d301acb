"""The rows of data files, one file after the other, by their position, read a row group at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from snapshots.columns import DRAFT_KEY_COLUMN, JSON_COLUMN
from snapshots.data_files.stored_columns import lifted, stored_name, stored_names
from snapshots.model import META_DATES
from snapshots.store.durable import StoreError

Ints: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"

INSTANTS = (*META_DATES, "live_from", "live_until")
"""Read as UTC milliseconds."""
CONTENT = ("id", *INSTANTS, DRAFT_KEY_COLUMN, JSON_COLUMN)
"""The columns with all facts of a language version."""
KEPT_GROUPS = 2
"""Row groups kept in memory. One is enough where entries did not change places."""


class RowGroups:
    """The rows of some data files of an API, language and kind, read a row group at a time."""

    def __init__(self, files: Sequence[pq.ParquetFile]) -> None:
        self._groups = [(file, number) for file in files for number in range(file.metadata.num_row_groups)]
        rows = [file.metadata.row_group(number).num_rows for file, number in self._groups]
        self.count: Final = sum(rows)
        self.starts: Ints = np.cumsum([0, *rows[:-1]], dtype=np.int64)
        self._files = files
        there = stored_names(files[0].schema_arrow)
        self._columns = [name for name in CONTENT if stored_name(name, there) in there]
        self._stored = [stored_name(name, there) for name in self._columns]
        self._kept: OrderedDict[int, pa.RecordBatch] = OrderedDict()

    def ids(self) -> pa.Array:
        """Return the IDs of all rows."""
        found = [chunk for file in self._files for chunk in file.read(columns=["id"])["id"].chunks]
        return pa.chunked_array(found, pa.string()).combine_chunks()

    def published(self) -> Ints:
        """Return ``publishedAt`` of all rows, as UTC milliseconds."""
        found = [file.read(columns=["publishedAt"])["publishedAt"].cast(pa.int64()).to_numpy() for file in self._files]
        return np.concatenate(found)

    def bounds(self) -> list[tuple[int, int]]:
        """Return the first row of each row group, and the first one after it."""
        ends = [*self.starts[1:].tolist(), self.count]
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
        file, number = self._groups[group]
        table = lifted(file.read_row_group(number, columns=self._stored), self._columns).combine_chunks()
        arrays = [table[name].combine_chunks() for name in self._columns]
        instants = [
            array.cast(pa.int64()) if name in INSTANTS else array
            for name, array in zip(self._columns, arrays, strict=True)
        ]
        return pa.RecordBatch.from_arrays(instants, names=self._columns)

    def close(self) -> None:
        self._kept.clear()


@contextmanager
def opened_rows(paths: Sequence[Path]) -> Iterator[RowGroups]:
    """Open data files, one at least, to read those of the columns ``CONTENT`` that they have.

    Raises ``StoreError``, in the block too, when a file cannot be read.
    """
    with ExitStack() as stack:
        named = paths[0]
        try:
            files = []
            for path in paths:
                named = path
                files.append(stack.enter_context(pq.ParquetFile(path)))
            rows = RowGroups(files)
            try:
                yield rows
            finally:
                rows.close()
        except (pa.ArrowException, OSError, KeyError) as error:
            raise StoreError(f"{named} cannot be read: {error}. `cms snapshot verify` says what is damaged.") from error


def rows_at(opened: RowGroups, rows: Ints) -> Iterator[pa.RecordBatch]:
    """Return the rows at these positions, which ascend, in one batch a row group."""
    groups = opened.group_of(rows)
    for at in np.split(rows, np.flatnonzero(np.diff(groups)) + 1) if len(rows) else ():
        yield opened.take(at)


def side_by_side(
    old: RowGroups, new: RowGroups, old_rows: Ints, new_rows: Ints
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch, Ints]]:
    """Return the rows at these positions of old and new files, in batches of equal length, and each batch's places.

    ``old_rows`` ascends; the batches follow the old file's order as far as the new one's does.
    """
    old_group, new_group = old.group_of(old_rows), new.group_of(new_rows)
    order = np.lexsort((old_rows, new_group, old_group))
    key = old_group[order] * (len(new.starts) + 1) + new_group[order]
    firsts = np.flatnonzero(np.diff(key, prepend=-1))
    for at in np.split(order, firsts[1:]) if len(order) else ():
        yield old.take(old_rows[at]), new.take(new_rows[at]), at

"""Read digests, live windows and IDs of the rows of data files of published versions from the store.

A reader's cache is not needed, so that versions can be compared which nobody has opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
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
    """The rows of some data files of an API and language, one file after the other."""

    def __init__(self, files: Sequence[pq.ParquetFile]) -> None:
        self._files = files

    def windows(self) -> Windows:
        """Return the live windows of all rows."""
        return windows_of(self._read(WINDOW))

    def published(self) -> Ints:
        """Return ``publishedAt`` of all rows, UTC milliseconds."""
        return _instants(self._read(["publishedAt"])["publishedAt"])

    def digests(self) -> Ints:
        """Return a number for each row, equal for rows that say the same. A file written before rows had digests is
        read whole, which takes some seconds for a million rows."""
        return np.concatenate([np.zeros(0, np.int64), *map(_digests, self._files)])

    def ids(self, rows: Ints) -> pa.Array:
        """Return the IDs of rows, whose positions ascend. Row groups without any of them are not read."""
        import pyarrow as pa

        found: list[pa.Array] = []
        first = 0
        groups = ((file, group) for file in self._files for group in range(file.metadata.num_row_groups))
        for one, group in groups:
            end = first + one.metadata.row_group(group).num_rows
            inside = rows[np.searchsorted(rows, first) : np.searchsorted(rows, end)] - first
            if len(inside):
                column = one.read_row_group(group, columns=["id"], use_threads=False)["id"].combine_chunks()
                found.append(column if len(inside) == end - first else column.take(pa.array(inside)))
            first = end
        return pa.concat_arrays(found) if found else pa.array([], pa.string())

    def _read(self, names: Sequence[str]) -> pa.Table:
        import pyarrow as pa

        return pa.concat_tables([file.read(columns=list(names), use_threads=False) for file in self._files])


def _digests(file: pq.ParquetFile) -> Ints:
    from snapshots.data_files.stored_columns import lifted, stored_as, stored_names  # noqa: PLC0415 - it imports Arrow

    [stored] = stored_as([DIGEST_COLUMN], file.schema_arrow)
    if stored not in stored_names(file.schema_arrow):
        return np.fromiter(_computed_digests(file), np.int64, file.metadata.num_rows)
    return _numbers(lifted(file.read(columns=[stored], use_threads=False), [DIGEST_COLUMN])[DIGEST_COLUMN])


def _computed_digests(file: pq.ParquetFile) -> Iterator[int]:
    columns = ["id", *META_DATES, JSON_COLUMN]
    for batch in file.iter_batches(_ROWS_AT_ONCE, columns=columns, use_threads=False):
        dates = zip(*(_instants(batch[name]).tolist() for name in META_DATES), strict=True)
        for one, moments, said in zip(batch["id"], dates, batch[JSON_COLUMN], strict=True):
            yield row_digest(said_digest((one.as_py(), *moments), said.as_buffer().to_pybytes()))


@contextmanager
def opened_published(paths: Sequence[Path]) -> Iterator[PublishedRows]:
    """Open data files of published versions, one at least. Raises ``StoreError``, in the block too, where one cannot be
    read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with ExitStack() as stack:
        named = paths[0]
        try:
            files = []
            for path in paths:
                named = path
                files.append(stack.enter_context(pq.ParquetFile(path, pre_buffer=False)))
            yield PublishedRows(files)
        except (pa.ArrowException, OSError, KeyError) as error:
            raise StoreError(f"{named} cannot be read: {error}. `cms snapshot verify` says what is damaged.") from error


def windows_of(table: pa.Table) -> Windows:
    """Return the live windows of a table's rows, from its columns ``WINDOW``."""
    return Windows(*(_instants(table[name]) for name in WINDOW))


def _instants(column: Any) -> Ints:
    import pyarrow as pa

    return _numbers(column.cast(pa.int64()))


def _numbers(column: Any) -> Ints:
    numbers: Ints = np.asarray(column.to_numpy()).astype(np.int64, copy=False)
    return numbers

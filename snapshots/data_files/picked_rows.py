"""Take rows out of a table of many pieces."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

Ints: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


def rows_at(table: pa.Table, rows: Ints) -> pa.Table:
    """Return the rows at these positions, in their order and in one piece.

    ``Table.take`` would put the whole table together first, and so bring all of it into memory.
    """
    order = np.argsort(rows, kind="stable")
    ascending = rows[order]
    pieces, first = [], 0
    for batch in table.to_batches():
        begin, end = np.searchsorted(ascending, (first, first + len(batch)))
        if end > begin:
            pieces.append(batch.take(pa.array(ascending[begin:end] - first)))
        first += len(batch)
    picked = pa.Table.from_batches(pieces, schema=table.schema).combine_chunks()
    if (rows[1:] >= rows[:-1]).all():
        return picked
    back = np.empty(len(rows), dtype=np.int64)
    back[order] = np.arange(len(rows))
    return picked.take(pa.array(back))

"""A list's rows by the values of fields → one page of them, without sorting the rest (contract 4.5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from engine.reader.values import Array, Keys


class SortKey(msgspec.Struct, frozen=True):
    """One key of an order. Rows without a value come last in either direction (decision 8)."""

    keys: Keys
    descending: bool

    def of(self, rows: slice | Array) -> Array:
        """What the rows are sorted by in ascending order."""
        keys = self.keys(rows)
        return -keys if self.descending else keys


def page_of(rows: Sequence[int], order: Sequence[SortKey], offset: int, limit: int) -> list[int]:
    """A page of rows in default order, sorted by at least one key; those with equal keys stay as they are."""
    end = min(offset + limit, len(rows))
    if offset >= end:
        return []
    if isinstance(rows, range):
        first = order[0].of(slice(rows.start, rows.stop))
        among, before = _around(first, offset, end)
        candidates = among + rows.start
    else:
        numbers = np.frombuffer(rows, np.int64)  # type: ignore[call-overload]  # what is no range is an array
        first = order[0].of(numbers)
        among, before = _around(first, offset, end)
        candidates = numbers[among]
    keys: list[Any] = [key.of(candidates) for key in reversed(order[1:])]
    sorted_rows = candidates[np.lexsort([*keys, first[among]])]
    page: list[int] = sorted_rows[offset - before : end - before].tolist()
    return page


def _around(keys: Array, first: int, end: int) -> tuple[Array, int]:
    """The places of the keys that, once sorted, stand from ``first`` to ``end``, with all that equal the first and the
    last of them; and how many come before those. NaN comes last."""
    parts = np.partition(keys, end - 1)[:end]
    low, high = np.partition(parts, first)[first], parts[-1]
    before = ~np.isnan(parts) if np.isnan(low) else parts < low
    among = np.arange(len(keys)) if np.isnan(high) else np.flatnonzero(keys <= high)
    ends = keys[among]
    among = among[np.isnan(ends) if np.isnan(low) else ~(ends < low)]
    return among, int(np.count_nonzero(before))

"""The counts files, read into memory: the views of a key in all, or since a day (contract 2.4 and 2.5).

A Python object for each key would be several times the numbers themselves, so keys stay in one sorted Arrow array and
are found by bisection.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from engine.views.collecting.targets import Kind, day_number
from engine.views.counting.count_files import COUNTS, TODAY, CountState, decode_state
from engine.views.counting.count_rows import CountsDamaged, opened, parts_of
from engine.views.counting.sorted_texts import SortedTexts
from engine.views.counting.totals import Part, ViewTotals, next_generation

if TYPE_CHECKING:
    import pyarrow as pa

MAX_DAYS: Final = 365
"""Days that are told apart, counted back from today; older views are in the totals only (contract 4.12)."""
_KEPT_DAYS: Final = MAX_DAYS + 1
_LONGEST_NAME: Final = 64
"""Bytes of a key that is kept as it is, as the ID of every entry is."""


class Counts:
    """All counts of a workspace at one moment. Immutable, for any number of threads."""

    def __init__(self, parts: Sequence[CountTable] = ()) -> None:
        self._parts = tuple(parts)
        self._generation = next_generation() if parts else 0

    def total(self, kind: Kind, key: str) -> int:
        """The number of views of a key."""
        return sum(part.total(kind, key) for part in self._parts)

    def total_and_recent(self, kind: Kind, key: str, since: int) -> tuple[int, int]:
        """The number of views of a key, and of those since a JST day (days since 1970), that day included."""
        total = recent = 0
        for part in self._parts:
            of_all, of_late = part.total_and_recent(kind, key, since)
            total, recent = total + of_all, recent + of_late
        return total, recent

    @cached_property
    def entry_totals(self) -> ViewTotals:
        """The totals of all entries."""

        return ViewTotals(lambda: [part.totals(Kind.ENTRY) for part in self._parts], self._generation)


class CountTable:
    """One counts file in memory: its keys, and behind each the days on which it was viewed."""

    def __init__(self, file: Path) -> None:
        """Raises ``FileNotFoundError`` and ``CountsDamaged``."""
        import pyarrow as pa
        import pyarrow.compute as pc

        with opened(file) as parquet:
            self.metadata: Final = dict(parquet.schema_arrow.metadata or {})
            most, oldest = parquet.metadata.num_rows, _newest_day(parquet.metadata) - _KEPT_DAYS
            builders = {kind: _Builder(most, oldest) for kind in Kind}
            for rows in parts_of(parquet):
                for kind, builder in builders.items():
                    builder.add(rows.filter(pc.equal(rows["kind"], kind.value)))
        self._keys = {kind: builder.finish() for kind, builder in builders.items()}
        pa.default_memory_pool().release_unused()

    def total(self, kind: Kind, key: str) -> int:
        keys = self._keys[kind]
        position = keys.find(key)
        return 0 if position is None else keys.total[position]

    def total_and_recent(self, kind: Kind, key: str, since: int) -> tuple[int, int]:
        keys = self._keys[kind]
        position = keys.find(key)
        if position is None:
            return 0, 0
        end = keys.start[position + 1]
        recent = bisect_left(keys.day, since, keys.start[position], end)
        return keys.total[position], sum(keys.views[recent:end])

    def totals(self, kind: Kind) -> Part:
        """The keys of a kind, and the total of each."""
        keys = self._keys[kind]
        return keys.names.array, keys.total


class CountsFile:
    """The counts files of one workspace, read again with each ``refresh``, which one thread calls."""

    def __init__(self, views: Path) -> None:
        self._directory = views / COUNTS
        self._base: tuple[str, CountTable] | None = None
        self.counts = Counts()
        self.state = CountState()

    def refresh(self) -> None:
        """Read the files as they are now. Raises ``CountsDamaged``, and the last good counts stay."""
        for last_try in (False, False, True):
            try:
                today = CountTable(self._directory / TODAY)
                state = decode_state(today.metadata, self._directory / TODAY)
                parts = [today]
                if state.base is not None:
                    if self._base is None or self._base[0] != state.base:
                        self._base = (state.base, CountTable(self._directory / state.base))
                    parts.insert(0, self._base[1])
                self.counts, self.state = Counts(parts), state
                return
            except FileNotFoundError as error:  # folded meanwhile: the new one names another base
                if last_try:
                    raise CountsDamaged(f"{error.filename or self._directory} is missing.") from None


class _Keys:
    """The keys of one kind, sorted, each with the position at which its days begin.

    The numbers are memory views of NumPy's arrays: one at a time they are read several times as fast.
    """

    def __init__(self, names: pa.StringArray, order: Any, start: Any, day: Any, views: Any, total: Any) -> None:
        """``order`` has the place of each sorted name in the other arrays; ``None`` where they are sorted alike."""
        self.names = SortedTexts(names)
        self._order: memoryview[int] | None = None if order is None else memoryview(order)
        self.start: memoryview[int] = memoryview(start)
        self.day: memoryview[int] = memoryview(day)
        self.views: memoryview[int] = memoryview(views)
        self.total: memoryview[int] = memoryview(total)

    def find(self, key: str) -> int | None:
        """The place of a key in the arrays; ``None`` for an unknown key."""
        position = self.names.find(_name(key))
        return position if position is None or self._order is None else self._order[position]


class _Builder:
    """Join sorted rows of one kind, part by part, to ``_Keys``. Arrays of all rows are never copied whole, which
    would take several times the memory of the result."""

    def __init__(self, most: int, oldest: int) -> None:
        """``most`` is the greatest number of rows; memory that is never written to costs nothing. Days before
        ``oldest`` (days since 1970) go into the totals only."""
        self._oldest = oldest
        self._names: list[Any] = []
        self._totals: list[Any] = []
        self._lengths: list[Any] = []
        self._day = np.empty(most, np.uint16)  # until the year 2149
        self._views = np.empty(most, np.uint32)
        self._rows = 0
        self._renamed = False

    def add(self, rows: pa.Table) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        if not rows.num_rows:
            return
        keys = rows["key"].combine_chunks()
        begins = np.concatenate(
            ([0], pc.not_equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False).nonzero()[0] + 1)
        )
        days = rows["day"].cast(pa.int32()).to_numpy()
        views = rows["views"].to_numpy()
        kept = days >= self._oldest
        names = keys.take(pa.array(begins))
        long = pc.greater(pc.binary_length(names), _LONGEST_NAME)
        if pc.any(long).as_py():
            self._renamed = True
            names = pc.replace_with_mask(names, long, pa.array(map(_name, names.filter(long).to_pylist()), pa.string()))
        self._names.append(names)
        self._totals.append(np.add.reduceat(views, begins, dtype=np.int64))
        self._lengths.append(np.add.reduceat(kept, begins, dtype=np.int64))
        end = self._rows + int(np.count_nonzero(kept))
        self._day[self._rows : end] = days[kept]
        self._views[self._rows : end] = views[kept]
        self._rows = end

    def finish(self) -> _Keys:
        import pyarrow as pa
        import pyarrow.compute as pc

        if not self._names:
            nothing = np.zeros(0, np.int64)
            return _Keys(pa.array([], pa.string()), None, np.zeros(1, np.int64), nothing, nothing, nothing)
        for n in range(len(self._names) - 1, 0, -1):  # a key whose rows go on in the next part
            if self._names[n][0].equals(self._names[n - 1][-1]):
                self._names[n] = self._names[n][1:]
                for numbers in (self._totals, self._lengths):
                    numbers[n - 1][-1] += numbers[n][0]
                    numbers[n] = numbers[n][1:]
        start = np.concatenate(([0], np.cumsum(np.concatenate(self._lengths))))
        total = np.concatenate(self._totals)
        names, order = pa.concat_arrays(self._names), None
        if self._renamed:
            order = pc.array_sort_indices(names).to_numpy().astype(np.uint32)
            names = names.take(pa.array(order))
        return _Keys(names, order, start, self._day[: self._rows], self._views[: self._rows], total)


def _name(key: str) -> str:
    """The name of a key: a digest for a long one, which bounds the memory. No key begins with a NUL."""
    data = key.encode()
    return key if len(data) <= _LONGEST_NAME else f"\0{blake2b(data, digest_size=16).hexdigest()}"


def _newest_day(metadata: pa.FileMetaData) -> int:
    """The last day in a counts file, as days since 1970; 0 for a file without one, all of whose days are kept."""
    column = metadata.schema.names.index("day")
    told = [metadata.row_group(group).column(column).statistics for group in range(metadata.num_row_groups)]
    if any(statistics is None or not statistics.has_min_max for statistics in told):
        return 0
    return max((day_number(statistics.max) for statistics in told), default=0)

"""The counts files, read into memory: a key → its views in all, or since a day (contract 2.4 and 2.5).

A Python object for each key would be several times the numbers themselves, so keys stay in one sorted Arrow array and
are found by bisection.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from engine.page_views.count_files import COUNTS, TODAY, CountsDamaged, CountState, damaged, decode_state
from engine.page_views.targets import Kind
from engine.page_views.totals import ViewTotals, next_generation
from engine.sorted_texts import SortedTexts

if TYPE_CHECKING:
    import pyarrow as pa

MAX_DAYS: Final = 365
"""How far back days are told apart; older ones are in the totals only (contract 4.12)."""
_KEPT_DAYS: Final = MAX_DAYS + 1


class Counts:
    """All counts of a workspace at one moment. Immutable, for any number of threads."""

    def __init__(self, parts: Sequence[CountTable] = ()) -> None:
        self._parts = tuple(parts)
        self._generation = next_generation() if parts else 0

    def total(self, kind: Kind, key: str) -> int:
        """How often a key has been viewed."""
        return sum(part.total(kind, key) for part in self._parts)

    def total_and_recent(self, kind: Kind, key: str, since: int) -> tuple[int, int]:
        """The same, and how often since a JST day (days since 1970), that day included."""
        total = recent = 0
        for part in self._parts:
            of_all, of_late = part.total_and_recent(kind, key, since)
            total, recent = total + of_all, recent + of_late
        return total, recent

    @cached_property
    def entry_totals(self) -> ViewTotals:
        """The totals of all entries."""

        def make() -> pa.Table:
            import pyarrow as pa  # noqa: PLC0415

            table = pa.concat_tables([part.totals(Kind.ENTRY) for part in self._parts])
            if len(self._parts) == 1:
                return table
            return table.group_by("id").aggregate([("total", "sum")]).rename_columns({"total_sum": "total"})

        return ViewTotals(make, self._generation)


class CountTable:
    """One counts file in memory: its keys, and behind each the days on which it was viewed."""

    def __init__(self, file: Path) -> None:
        """Raises ``FileNotFoundError`` and ``CountsDamaged``."""
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.compute as pc  # noqa: PLC0415
        import pyarrow.parquet as pq  # noqa: PLC0415

        try:
            with pq.ParquetFile(file, read_dictionary=["key"]) as parquet:
                self.metadata: Final = dict(parquet.schema_arrow.metadata or {})
                builders = {kind: _Builder(parquet.metadata.num_rows) for kind in Kind}
                for group in range(parquet.num_row_groups):
                    rows = parquet.read_row_group(group, use_threads=False)
                    for kind, builder in builders.items():
                        builder.add(rows.filter(pc.equal(rows["kind"], kind.value)))
        except FileNotFoundError:
            raise
        except (pa.ArrowException, OSError, KeyError) as error:
            raise damaged(file, str(error)) from None
        newest = max((builder.newest for builder in builders.values()), default=0)
        self._keys = {kind: builder.finish(newest - _KEPT_DAYS) for kind, builder in builders.items()}
        pa.default_memory_pool().release_unused()

    def total(self, kind: Kind, key: str) -> int:
        keys = self._keys[kind]
        place = keys.names.find(key)
        return 0 if place is None else int(keys.total[place])

    def total_and_recent(self, kind: Kind, key: str, since: int) -> tuple[int, int]:
        keys = self._keys[kind]
        place = keys.names.find(key)
        if place is None:
            return 0, 0
        first, end = int(keys.start[place]), int(keys.start[place + 1])
        recent = first + int(keys.day[first:end].searchsorted(since))
        return int(keys.total[place]), int(keys.views[recent:end].sum())

    def totals(self, kind: Kind) -> pa.Table:
        """A table (``id``, ``total``)."""
        import pyarrow as pa  # noqa: PLC0415

        keys = self._keys[kind]
        return pa.table({"id": keys.names.array, "total": pa.array(keys.total, pa.int64())})


class CountsFile:
    """The counts files of one workspace, followed: ``look`` is called by one thread."""

    def __init__(self, views: Path) -> None:
        self._directory = views / COUNTS
        self._base: tuple[str, CountTable] | None = None
        self.counts = Counts()
        self.state = CountState()

    def look(self) -> None:
        """Read what is there now. Raises ``CountsDamaged``, and the last good counts stay."""
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
    """The keys of one kind, sorted, and for each where its days begin."""

    def __init__(self, names: pa.StringArray, start: Any, day: Any, views: Any, total: Any) -> None:
        self.names = SortedTexts(names)
        self.start, self.day, self.views, self.total = start, day, views, total


class _Builder:
    """Sorted rows of one kind, part by part → ``_Keys``."""

    def __init__(self, most: int) -> None:
        """``most`` is how many rows there can be; memory that is never written to costs nothing."""
        import numpy as np  # noqa: PLC0415

        self._names: list[Any] = []
        self._lengths: list[Any] = []
        self._day = np.empty(most, np.uint16)  # until the year 2149
        self._views = np.empty(most, np.uint32)
        self._rows = 0
        self.newest = 0

    def add(self, rows: pa.Table) -> None:
        import numpy as np  # noqa: PLC0415
        import pyarrow as pa  # noqa: PLC0415

        if not rows.num_rows:
            return
        keys = rows["key"].combine_chunks()
        keys = keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys
        codes = keys.indices.to_numpy(zero_copy_only=False)
        begins = np.concatenate(([0], np.flatnonzero(np.diff(codes)) + 1))
        self._names.append(keys.dictionary.take(keys.indices.take(pa.array(begins))).cast(pa.string()))
        self._lengths.append(np.diff(np.append(begins, len(codes))))
        days = rows["day"].cast(pa.int32()).to_numpy()
        self.newest = max(self.newest, int(days.max()))
        end = self._rows + len(days)
        self._day[self._rows : end] = days
        self._views[self._rows : end] = rows["views"].to_numpy()
        self._rows = end

    def finish(self, oldest: int) -> _Keys:
        import numpy as np  # noqa: PLC0415
        import pyarrow as pa  # noqa: PLC0415

        if not self._names:
            nothing = np.zeros(0, np.int64)
            return _Keys(pa.array([], pa.string()), np.zeros(1, np.int64), nothing, nothing, nothing)
        for n in range(len(self._names) - 1, 0, -1):  # a key whose rows go on in the next part
            if self._names[n][0].equals(self._names[n - 1][-1]):
                self._names[n] = self._names[n][1:]
                self._lengths[n - 1][-1] += self._lengths[n][0]
                self._lengths[n] = self._lengths[n][1:]
        names = pa.concat_arrays(self._names)
        start = np.concatenate(([0], np.cumsum(np.concatenate(self._lengths))))
        day, views = self._day[: self._rows], self._views[: self._rows]
        total = np.add.reduceat(views, start[:-1], dtype=np.int64)
        if day.min() < oldest:
            kept = day >= oldest
            start = np.concatenate(([0], np.cumsum(kept)))[start]
            day, views = day[kept], views[kept]
        return _Keys(names, start, day, views, total)

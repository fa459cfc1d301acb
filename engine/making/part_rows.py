"""A part's data files → what is known of its rows by position: windows, entries, references (design section 4).

Worked out in memory, from the few columns that tell it, when a part is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.cache.entry_number import NUMBER_BITS, number_bytes
from engine.cache.parts import Part
from engine.cache.row_arrays import (
    ENTRIES,
    ENTRY_ROWS,
    ENTRY_STARTS,
    LIVE_FROM,
    LIVE_UNTIL,
    reference_starts,
    references_array,
)
from engine.cache.unusable import SnapshotUnusable
from engine.making.version_files import VersionFiles
from snapshots.model import REFERENCE_TYPES, Field

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_INSTANTS: Final = ("publishedAt", LIVE_FROM, LIVE_UNTIL)


class PartRows:
    """The rows of a part."""

    def __init__(self, files: VersionFiles, part: Part) -> None:
        """Raises ``SnapshotUnusable`` for files that cannot be read, or have not the columns, or another number of
        rows, or not in default order."""
        self._fields: Final = [field for field in part.api.fields if field.type in REFERENCE_TYPES]
        names = ["id", *_INSTANTS, *(field.id for field in self._fields)]
        tables = [files.read(part.api, one, names) for one in part.files]

        def column(name: str, kind: pa.DataType) -> pa.ChunkedArray:
            return pa.chunked_array([chunk for table in tables for chunk in table[name].cast(kind).chunks], kind)

        self._instants: Final[dict[str, Array]] = {
            name: column(name, pa.timestamp("ms", "UTC")).cast(pa.int64()).to_numpy() for name in _INSTANTS
        }
        self._ids: Final = column("id", pa.string())
        self._references: Final = {
            field.id: column(field.id, pa.list_(pa.string()) if field.type.facts.is_array else pa.string())
            for field in self._fields
        }
        if [len(table) for table in tables] != [one.data.rows for one in part.files]:
            raise files.unusable(part.api)
        if not all(self._in_default_order(rows) for _, rows in part.ranges()):
            raise files.unusable(part.api)

    def _in_default_order(self, rows: range) -> bool:
        """Whether the rows of a file are: ``publishedAt`` descending, then ``id``."""
        published = self._instants["publishedAt"][rows.start : rows.stop]
        tied = np.flatnonzero(published[1:] == published[:-1]) + rows.start
        ascend = pc.less(self._ids.take(pa.array(tied)), self._ids.take(pa.array(tied + 1)))
        return bool((published[1:] <= published[:-1]).all()) and pc.all(ascend).as_py() is not False

    def arrays(self) -> Iterator[tuple[str, Array]]:
        """The arrays of ``engine.cache.row_arrays`` but those of the bodies, with their names."""
        for name in (LIVE_FROM, LIVE_UNTIL):
            yield name, self._instants[name]
        numbers = _numbers(self._ids)
        order = np.argsort(numbers, kind="stable")
        ascending = numbers[order]
        bits = len(numbers).bit_length()
        buckets = np.arange(1 << bits, dtype=np.uint64) << np.uint64(NUMBER_BITS - bits)
        yield ENTRIES, ascending
        yield ENTRY_ROWS, order.astype(np.uint32)
        yield ENTRY_STARTS, np.append(np.searchsorted(ascending, buckets), len(numbers)).astype(np.uint32)
        for field in self._fields:
            yield from self._references_of(field)

    def _references_of(self, field: Field) -> Iterator[tuple[str, Array]]:
        values = self._references[field.id]
        if field.type.facts.is_array:
            counts = pc.fill_null(pc.list_value_length(values), 0).to_numpy()
            named = pa.chunked_array([chunk.flatten() for chunk in values.chunks], pa.string())
        else:
            counts = values.is_valid().to_numpy()
            named = values.drop_null()
        yield references_array(field.id), _numbers(named)
        yield reference_starts(field.id), np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def _numbers(ids: pa.ChunkedArray) -> Array:
    """The numbers of the entries with these IDs. Raises ``SnapshotUnusable`` where two IDs have the same."""
    encoded = ids.combine_chunks().dictionary_encode()
    distinct = encoded.dictionary.to_pylist()
    numbers = np.frombuffer(b"".join(map(number_bytes, distinct)), ">u8").astype(np.uint64)
    if len(np.unique(numbers)) < len(numbers):
        first, second = _alike(distinct)
        raise SnapshotUnusable(
            f"The IDs {first} and {second} cannot be told apart. Change one of them, and build again."
        )
    of_rows: Array = numbers[encoded.indices.to_numpy()]
    return of_rows


def _alike(ids: list[str]) -> tuple[str, str]:
    """Two IDs of which the numbers are the same."""
    known: dict[bytes, str] = {}
    for one in ids:
        if (other := known.setdefault(number_bytes(one), one)) != one:
            return other, one
    raise ValueError("no two are alike")

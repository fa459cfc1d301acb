"""Read the arrays about a part's rows by position from its data files: windows, entries, references (design section 4).

They are computed in memory, from a few narrow columns, when a part is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import UNSET

from engine.read.files.parts import Part
from engine.read.files.row_arrays import (
    ENTRIES,
    ENTRY_ROWS,
    ENTRY_STARTS,
    RECORDS,
    REFERENCES,
    UNNAMED,
)
from engine.read.files.unusable import SnapshotUnusable
from engine.read.materialise.version_files import VersionFiles
from snapshots.columns import REFERENCE_API, REFERENCE_ID
from snapshots.data_files.segments import NUMBER_BITS, number_bytes, shared_bits
from snapshots.model import FieldPath
from snapshots.search.runs import ragged

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_INSTANTS: Final = ("publishedAt", "live_from", "live_until")


class PartRows:
    """The rows of a part."""

    def __init__(self, files: VersionFiles, part: Part) -> None:
        """Raises ``SnapshotUnusable`` for files that cannot be read, lack a column, have another number of rows than
        the manifest says, or are not in default order."""
        self._paths: Final = part.api.references
        self._segment: Final = part.segment
        names = ["id", *_INSTANTS, *dict.fromkeys(path.steps[0] for path in self._paths)]
        tables = [files.read(part.api, one, names) for one in part.files]

        def column(name: str, kind: pa.DataType) -> pa.ChunkedArray:
            return pa.chunked_array([chunk for table in tables for chunk in table[name].cast(kind).chunks], kind)

        self._instants: Final[dict[str, Array]] = {
            name: column(name, pa.timestamp("ms", "UTC")).cast(pa.int64()).to_numpy() for name in _INSTANTS
        }
        self._ids: Final = column("id", pa.string())
        self._references: Final = {
            path.name: _flattened(pa.chunked_array([c for t in tables for c in t[path.steps[0]].chunks]), path)
            for path in self._paths
        }
        if [len(table) for table in tables] != [one.data.rows for one in part.files]:
            raise files.unusable(part.api)
        if not all(self._in_default_order(rows) for _, rows in part.ranges()):
            raise files.unusable(part.api)

    def _in_default_order(self, rows: range) -> bool:
        """Whether the rows of a file are in default order: ``publishedAt`` descending, then ``id``."""
        published = self._instants["publishedAt"][rows.start : rows.stop]
        tied = np.flatnonzero(published[1:] == published[:-1]) + rows.start
        ascend = pc.less(self._ids.take(pa.array(tied)), self._ids.take(pa.array(tied + 1)))
        return bool((published[1:] <= published[:-1]).all()) and pc.all(ascend).as_py() is not False

    def arrays(self, body_at: Array, checks: Array) -> Iterator[tuple[str, Array]]:
        """The arrays of ``engine.read.files.row_arrays``, the bodies left out, with their names. ``body_at`` are the
        positions at which bodies begin, and at which the last ends, ``checks`` their CRC-32."""
        references_at, references = self._named()
        windows = [self._instants["live_from"], self._instants["live_until"]]
        # The fields of a record in their order.
        fields = [body_at, *(np.append(values, 0) for values in (checks, *windows))]
        yield RECORDS, np.column_stack([*fields, references_at]).astype(np.int64).ravel()
        yield REFERENCES, references
        numbers = _numbers(self._ids.combine_chunks())
        order = np.argsort(numbers, kind="stable")
        ascending = numbers[order]
        bits = len(numbers).bit_length()
        buckets = np.arange(1 << bits, dtype=np.uint64) << np.uint64(NUMBER_BITS - bits)
        below = ascending << np.uint64(shared_bits(self._segment))
        yield ENTRIES, ascending
        yield ENTRY_ROWS, order.astype(np.uint32)
        yield ENTRY_STARTS, np.append(np.searchsorted(below, buckets), len(numbers)).astype(np.uint32)

    def _named(self) -> tuple[Array, Array]:
        """The references of all rows, row after row and field after field, and where those of each field begin in each
        row, and in one more."""
        rows, fields = len(self._ids), len(self._paths)
        numbers: list[Array] = []
        counts = np.zeros((rows, fields), np.int64)
        for at, path in enumerate(self._paths):
            named, of_rows = self._references[path.name]
            if path.field.targets is UNSET:
                numbers.append(_numbers(named.cast(pa.string())))
            else:
                apis = _numbers(pc.fill_null(_member(named, REFERENCE_API), UNNAMED))
                ids = _numbers(_member(named, REFERENCE_ID).cast(pa.string()))
                numbers.append(np.column_stack([apis, ids]).ravel())
            counts[:, at] = np.bincount(of_rows, minlength=rows) * (1 if path.field.targets is UNSET else 2)
        ends = np.cumsum(counts.ravel())
        total = int(ends[-1]) if len(ends) else 0
        begins = np.append(ends - counts.ravel(), np.full(fields, total)).reshape(rows + 1, fields)
        references = np.zeros(total, np.uint64)
        for at, values in enumerate(numbers):
            references[ragged(begins[:-1, at], counts[:, at])] = values
        return begins, references


def _flattened(column: pa.ChunkedArray, path: FieldPath) -> tuple[pa.Array, Array]:
    """The values of a field in the groups of a column, those that are there, and the row of each."""
    values = column.combine_chunks()
    rows = np.arange(len(values))
    for step in (*path.steps[1:], None):
        if pa.types.is_list(values.type):
            rows = rows[pc.list_parent_indices(values).to_numpy()]
            values = values.flatten()
        if step is not None:
            values = _member(values, step)
    rows = rows[values.is_valid().to_numpy(zero_copy_only=False)]
    return values.drop_null(), rows


def _member(values: pa.StructArray, name: str) -> pa.Array:
    """A member of structs; none where there is no struct."""
    return pc.struct_field(values, name)


def _numbers(ids: pa.Array) -> Array:
    """The numbers of the entries with these IDs. Raises ``SnapshotUnusable`` where two IDs have one number."""
    encoded = ids.dictionary_encode()
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
    """Two IDs that have one number."""
    known: dict[bytes, str] = {}
    for one in ids:
        if (other := known.setdefault(number_bytes(one), one)) != one:
            return other, one
    raise ValueError("no two are alike")

"""Write rows in their final order as one data file: the same bytes for the same rows and settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from snapshots.build.cached.chunks import ChunkReader, arrow_field
from snapshots.build.settings import WriteSettings
from snapshots.columns import DIGEST_COLUMN, DRAFT_KEY_COLUMN, OWN, Column, ColumnType, own_column, own_member

GROUP_ROWS = 16_384
GROUP_BYTES = 16 << 20
"""A row group ends at ``GROUP_ROWS`` rows or this many bytes of JSON, whichever comes first; this bounds memory."""

_VIEW: Final = np.dtype("V16")

Ints: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class FilePlan(msgspec.Struct, frozen=True):
    """The rows of one data file, in final order, and the places of their content."""

    columns: tuple[Column, ...]
    """Those of the file that say something to everybody."""
    own: tuple[Column, ...]
    """Those that only readers need, which the file has in one struct."""
    chunk: Ints
    """Chunk number of each row."""
    row: Ints
    """Position in that chunk."""
    size: Ints
    """Bytes of JSON of each row."""
    windows: dict[str, pa.Array]
    """The columns with the live windows of other languages, in final order."""
    draft_keys: pa.Array | None
    digests: pa.ChunkedArray
    """A digest of each row, ``DIGEST_BYTES`` long, over all but the windows of other languages."""


def write_parquet(plan: FilePlan, chunks: Sequence[Path], path: Path, settings: WriteSettings) -> None:
    """Write the rows of ``plan`` to ``path``, reading them from ``chunks`` a row group at a time."""
    schema = schema_of((*plan.columns, own_column(plan.own)))
    with RowSource(plan, chunks) as rows, _writer(path, plan, schema, settings) as writer:
        for first, end in row_groups(plan.size):
            found = rows.columns(first, end)
            # Of texts in structs, Parquet's writer knows no views.
            inside = [_plain(found[column.name]) for column in plan.own]
            struct = pa.StructArray.from_arrays(inside, fields=list(schema.field(OWN).type))
            arrays = [*(found[column.name] for column in plan.columns), struct]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema), row_group_size=end - first)


def columns_in_memory(plan: FilePlan, chunks: Sequence[Path], names: Sequence[str]) -> pa.Buffer:
    """Return columns of the rows of ``plan`` as a Parquet file in memory, not compressed: it is read once, and soon."""
    memory = pa.BufferOutputStream()
    schema = pa.schema([schema_of((*plan.columns, *plan.own)).field(name) for name in names])
    with (
        RowSource(plan, chunks) as rows,
        pq.ParquetWriter(
            memory, schema, compression="none", use_dictionary=False, write_statistics=False, store_schema=False
        ) as writer,
    ):
        for first, end in row_groups(plan.size):
            found = rows.columns(first, end)
            table = pa.Table.from_arrays([found[name] for name in names], schema=schema)
            writer.write_table(table, row_group_size=end - first)
    return memory.getvalue()


def schema_of(columns: Sequence[Column]) -> pa.Schema:
    """Return the schema of rows in memory. Texts are views; a file stores them like other texts."""
    stored = [arrow_field(column) for column in columns]
    return pa.schema([field.with_type(pa.string_view()) if _is_text(field.type) else field for field in stored])


def _plain(values: pa.Array) -> pa.Array:
    return values.cast(pa.string()) if pa.types.is_string_view(values.type) else values


def _writer(path: Path, plan: FilePlan, schema: pa.Schema, settings: WriteSettings) -> pq.ParquetWriter:
    wide = (ColumnType.TEXT, ColumnType.STRUCT)
    named = {column.name: column for column in plan.columns}
    named |= {f"{OWN}.{own_member(column.name)}": column for column in plan.own}
    narrow = [name for name, c in named.items() if c.type not in wide or name == "id"]
    repeating = [name for name, c in named.items() if c.type is ColumnType.TIMESTAMP or (c.is_list and not c.inside)]
    return pq.ParquetWriter(
        path,
        schema,
        compression=settings.compression,
        compression_level=settings.level,
        use_dictionary=repeating,
        write_statistics=narrow,
        store_schema=False,
    )


def row_groups(size: Ints) -> Iterator[tuple[int, int]]:
    """Return the first row of each row group, and the row after its last."""
    total = np.cumsum(size, dtype=np.int64)
    first = 0
    while first < len(size):
        before = int(total[first - 1]) if first else 0
        by_bytes = int(np.searchsorted(total, before + GROUP_BYTES, side="right"))
        end = max(first + 1, min(first + GROUP_ROWS, by_bytes))
        yield first, end
        first = end


class RowSource:
    """The rows of a plan, read from chunks."""

    def __init__(self, plan: FilePlan, chunks: Sequence[Path]) -> None:
        self._plan, self._chunks = plan, chunks
        self._readers: dict[int, ChunkReader] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for reader in self._readers.values():
            reader.close()

    def columns(self, first: int, end: int) -> dict[str, pa.Array]:
        """Return the rows from ``first`` to before ``end`` in final order, and release those of the call before. Texts
        are views."""
        plan = self._plan
        for reader in self._readers.values():
            reader.release()
        found = _gather(plan, first, end, self._chunks, self._readers)
        for name, array in plan.windows.items():
            found[name] = array.slice(first, end - first)
        if plan.draft_keys is not None:
            found[DRAFT_KEY_COLUMN] = plan.draft_keys.slice(first, end - first)
        else:
            found[DIGEST_COLUMN] = _row_digests(plan.digests.slice(first, end - first))
        return found


def _gather(
    plan: FilePlan, first: int, end: int, chunks: Sequence[Path], readers: dict[int, ChunkReader]
) -> dict[str, pa.Array]:
    """Return the columns that chunks hold of the rows from ``first`` to before ``end``, in final order."""
    chunk, row = plan.chunk[first:end], plan.row[first:end]
    by_position = np.lexsort((row, chunk))
    numbers, starts = np.unique(chunk[by_position], return_index=True)
    stops = np.append(starts[1:], end - first)
    pieces = []
    for number, start, stop in zip(numbers.tolist(), starts.tolist(), stops.tolist(), strict=True):
        if number not in readers:
            readers[number] = ChunkReader(chunks[number], mapped=True)
        pieces.append(readers[number].take(row[by_position[start:stop]]))
    rows = pa.concat_tables(pieces)
    back = np.empty(end - first, dtype=np.int64)
    back[by_position] = np.arange(end - first)
    return {name: _in_order(rows[name], back) for name in rows.column_names}


def _row_digests(digests: pa.ChunkedArray) -> pa.Array:
    """Return the ``DIGEST_COLUMN`` of rows from their ``version_digest``: ``row_digest`` of each."""
    one = digests.combine_chunks()
    width = one.type.byte_width
    stored = np.frombuffer(one.buffers()[1], np.uint8, len(one) * width, one.offset * width)
    return pa.array(stored.reshape(-1, width)[:, :8].copy().view("<i8").ravel())


def _in_order(column: pa.ChunkedArray, order: Ints) -> pa.Array:
    """Return a column's values in this order; texts are not copied, but viewed where they are in the chunks."""
    if not _is_text(column.type):
        return column.combine_chunks().take(pa.array(order))
    views = pa.concat_arrays(column.cast(pa.string_view()).chunks)
    valid, view_buffer, *texts = views.buffers()
    if views.null_count:
        valid = views.is_valid().take(pa.array(order)).buffers()[1]
    # Arrow has no ``take`` for views.
    ordered = np.frombuffer(view_buffer, _VIEW, len(views), views.offset * _VIEW.itemsize)[order]
    buffers = [valid if views.null_count else None, pa.py_buffer(ordered), *texts]
    return pa.Array.from_buffers(pa.string_view(), len(views), buffers)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind))

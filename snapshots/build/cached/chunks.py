"""Compiled rows of one API ⇄ chunks, the sorted Arrow files in which the build cache keeps rows between builds.

A chunk holds the rows of some *sources*: files, or units of a large file. They are sorted by language and by the
numbers of their entries, as segments are, so that a build reads runs of neighbouring rows however large the workspace
is. The *index* has one narrow record for each row; checking and ordering need no more, and only the columns that they
look at are brought into memory.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.columns import (
    JSON_COLUMN,
    Column,
    ColumnType,
    FileKind,
    own_columns,
    public_columns,
    search_column,
)
from snapshots.compile.rows import DIGEST_BYTES, LIVE, CompiledRows
from snapshots.data_files.segments import entry_digests, entry_numbers
from snapshots.model import Api, Workspace

_ARROW_TYPES: dict[ColumnType, pa.DataType] = {
    ColumnType.TEXT: pa.string(),
    ColumnType.DOUBLE: pa.float64(),
    ColumnType.INTEGER: pa.int64(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.TIMESTAMP: pa.timestamp("ms"),
}
CHUNK_ORDER = [("lang", "ascending"), ("draft", "ascending"), ("number", "ascending")]
"""How the rows of a chunk are sorted; ``draft`` is whether they are no live versions."""
BATCH_ROWS = 128
"""Rows in a record batch of a chunk, and so the fewest that are read at a time."""
WHOLE_ROWS = 65_536
"""Rows in a record batch of a file that is only read whole, such as an index."""

_NOT_NEEDED: int | None = getattr(mmap, "MADV_DONTNEED", None)
_LOWER = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}

INDEX = pa.schema(
    [
        ("source", pa.int32()),  # position among the sources of the chunk
        ("line", pa.int32()),  # where the version stands in it
        ("item", pa.string()),  # and which of many items it is there, as problems name it
        ("row", pa.int32()),  # position in the chunk, ascending
        ("size", pa.int32()),  # bytes of its JSON
        ("lang", pa.int16()),  # index into the workspace's languages
        ("state", pa.int8()),  # LIVE, DRAFT_STATUS or DRAFT_FILE of compile/rows.py
        ("scheduled", pa.bool_()),
        ("id", pa.string()),
        ("published", pa.int64()),  # UTC milliseconds, like the window
        ("live_from", pa.int64()),
        ("live_until", pa.int64()),
        ("digest", pa.binary(DIGEST_BYTES)),
        ("draft_key", pa.string()),
        ("dated", pa.int8()),  # where its dates are from, such as GIVEN of compile/dates.py
        ("number", pa.uint64()),  # of the entry, by which it has its segment
        ("mark", pa.uint64()),  # more of the digest that the number begins: entries with both the same are one
        ("folded", pa.uint64()),  # number of the ID in lower case
    ]
)
REFERENCES = pa.schema(
    [
        ("source", pa.int32()),
        ("line", pa.int32()),
        ("item", pa.string()),
        ("lang", pa.int16()),  # index into the workspace's languages
        ("field", pa.int16()),
        ("target", pa.string()),
        ("written", pa.string()),
        ("number", pa.uint64()),  # of the entry with the target as its ID
    ]
)


def arrow_field(column: Column) -> pa.Field:
    return pa.field(column.name, arrow_type(column), column.nullable)


def arrow_type(column: Column) -> pa.DataType:
    """Return the type of a column in memory and in Parquet."""
    is_struct = column.type is ColumnType.STRUCT
    one = pa.struct([arrow_field(inner) for inner in column.inside]) if is_struct else _ARROW_TYPES[column.type]
    return pa.list_(one) if column.is_list else one


def chunk_columns(workspace: Workspace, api: Api) -> list[Column]:
    """Return the columns of a chunk: those of a data file that do not depend on other versions."""
    own = own_columns(workspace, api, workspace.main_language, FileKind.PUBLISHED)
    texts = {search_column(field.id) for field in api.fields}
    return [*public_columns(api), *(column for column in own if column.name in texts or column.name == JSON_COLUMN)]


def references_of(rows: CompiledRows) -> pa.Table:
    """Return the references of compiled rows as a table."""
    *columns_of_references, targets, written = zip(*rows.references, strict=True) if rows.references else ((),) * 7
    values = [*columns_of_references, targets, written]
    arrays = list(map(pa.array, values, REFERENCES.types[:-1]))
    return pa.table([*arrays, pa.array(entry_numbers(targets), pa.uint64())], schema=REFERENCES)


def write_chunk(rows: CompiledRows, stored: Sequence[Column], path: Path) -> pa.Table:
    """Write compiled rows, one at least, as a chunk; return their index, in which ``source`` is what is the file of the
    rows."""
    count = len(rows.lang)
    numbers, marks = entry_digests(rows.columns["id"])
    keys = pa.table(
        {
            "lang": pa.array(rows.lang, INDEX.field("lang").type),
            "draft": pa.array([state != LIVE for state in rows.state], pa.bool_()),
            "number": numbers,
        }
    )
    order = pc.sort_indices(keys, sort_keys=CHUNK_ORDER)
    texts = {column.name for column in stored if column.type is ColumnType.TEXT and not column.is_list}
    others = [column for column in stored if column.name not in texts]
    arrays = [_array(rows.columns[column.name], column) for column in others]
    table = pa.Table.from_arrays(arrays, schema=pa.schema(map(arrow_field, others)))
    index = pa.table(
        [
            pa.array(rows.file, pa.int32()),
            pa.array(rows.line, pa.int32()),
            pa.array(rows.item, pa.string()),
            pa.array(np.zeros(count, dtype=np.int32)),
            pa.array(map(len, rows.json), pa.int32()),
            keys["lang"],
            pa.array(rows.state, pa.int8()),
            pa.array(rows.scheduled, pa.bool_()),
            pa.array(rows.columns["id"], pa.string()),
            pa.array(rows.columns["publishedAt"], pa.int64()),
            table["live_from"].cast(pa.int64()),
            table["live_until"].cast(pa.int64()),
            pa.array(rows.digest, pa.binary(DIGEST_BYTES)),
            pa.array(rows.draft_key, pa.string()),
            pa.array(rows.dated, pa.int8()),
            keys["number"],
            pa.array(marks),
            pa.array(_folded_numbers(rows.columns["id"], numbers)),
        ],
        schema=INDEX,
    ).take(order)
    index = index.set_column(INDEX.get_field_index("row"), "row", pa.array(np.arange(count, dtype=np.int32)))
    positions = order.to_pylist()
    in_order = {name: list(map(rows.columns[name].__getitem__, positions)) for name in texts - {JSON_COLUMN}}
    in_order[JSON_COLUMN] = list(map(rows.json.__getitem__, positions))
    schema = pa.schema(map(arrow_field, stored))
    batches = table.take(order).combine_chunks().to_batches(max_chunksize=BATCH_ROWS)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        for start, batch in zip(range(0, count, BATCH_ROWS), batches, strict=True):
            columns_of_batch = [
                _texts(in_order[name][start : start + BATCH_ROWS]) if name in in_order else batch[name]
                for name in schema.names
            ]
            writer.write_batch(pa.RecordBatch.from_arrays(columns_of_batch, schema=schema))
    return index


def _folded_numbers(ids: Sequence[str], numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the numbers of IDs in lower case, as far as their letters are ASCII's; ``numbers`` are their own."""
    folded = [one.lower() if one.isascii() else one.translate(_LOWER) for one in ids]
    return numbers if folded == list(ids) else entry_numbers(folded)


def _texts(values: Sequence[Any]) -> pa.Array:
    """Return texts as an Arrow array. JSON is given as bytes, and not decoded."""
    if type(values[0]) is bytes:
        return pa.array(values, pa.binary()).view(pa.string())
    return pa.array(values, pa.string())


def _array(values: Sequence[Any], column: Column) -> pa.Array:
    if column.type is ColumnType.TIMESTAMP:
        return pa.array(values, pa.int64()).cast(pa.timestamp("ms"))
    return pa.array(values, arrow_type(column))


def write_arrow(table: pa.Table, path: Path, order: pa.Array | None = None) -> None:
    """Write a table as an Arrow file, to be read whole. With ``order``: its rows in that order, to be read by position.

    The file is not compressed: it is read once or twice, so that compressing costs more than it saves.
    """
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        if order is None:
            writer.write_table(table, max_chunksize=WHOLE_ROWS)
            return
        for start in range(0, len(order), BATCH_ROWS):
            writer.write_table(table.take(order.slice(start, BATCH_ROWS)).combine_chunks(), max_chunksize=BATCH_ROWS)


def read_arrow(path: Path) -> pa.Table:
    """Return the table in an Arrow file. Its columns come from the file when they are looked at. Raises as
    ``ChunkReader``."""
    return pa.ipc.open_file(pa.py_buffer(_mapped(path))).read_all()


def _mapped(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            raise pa.ArrowInvalid(f"{path} is empty")
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class ChunkReader:
    """Reads rows of one chunk by position.

    With ``mapped`` the file is mapped into memory, and rows are not copied: while they are in use the file stays open,
    and their pages count as memory until ``release``. Raises ``OSError`` and ``pyarrow.ArrowInvalid``.
    """

    def __init__(self, path: Path, *, mapped: bool = False) -> None:
        self._source: pa.NativeFile | mmap.mmap
        if mapped:
            self._source = _mapped(path)
            self._file = pa.ipc.open_file(pa.py_buffer(self._source))
        else:
            self._source = pa.OSFile(str(path), "rb")
            self._file = pa.ipc.open_file(self._source)
        self._last: tuple[int, pa.RecordBatch] | None = None
        self.schema: pa.Schema = self._file.schema

    def take(self, rows: np.ndarray[Any, np.dtype[np.int32]]) -> pa.Table:
        """Return the rows at these positions, which ascend."""
        batches, firsts = np.unique(rows // BATCH_ROWS, return_index=True)
        ends = np.append(firsts[1:], len(rows))
        pieces = []
        for number, first, end in zip(batches.tolist(), firsts.tolist(), ends.tolist(), strict=True):
            if self._last is None or self._last[0] != number:
                self._last = (number, self._file.get_batch(number))
            wanted = rows[first:end] - number * BATCH_ROWS
            start, length = int(wanted[0]), end - first
            if int(wanted[-1]) - start == length - 1:  # neighbours, as nearly always: a slice copies nothing
                pieces.append(self._last[1].slice(start, length))
            else:
                pieces.append(self._last[1].take(pa.array(wanted)))
        return pa.Table.from_batches(pieces, schema=self.schema)

    def release(self) -> None:
        """Give back the memory of the rows read so far. They stay readable, and come from the file again."""
        if isinstance(self._source, mmap.mmap) and _NOT_NEEDED is not None:
            self._source.madvise(_NOT_NEEDED)

    def close(self) -> None:
        """Close the file; a mapped one closes once none of its rows is in use."""
        self._last = None
        if isinstance(self._source, pa.NativeFile):
            self._source.close()

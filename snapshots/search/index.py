"""Make the search index of a data file, which finds a term's rows without reading texts (design section 3).

A text is cut into *words*, the longest runs of letters and digits of scripts that put spaces between words, and the
runs between them, which are indexed by single characters and pairs of neighbours, as Japanese needs. The index is a
Parquet file that lists for each of those tokens the rows that hold it:

    field (text) · first (the block's first row) · token (text) · rows (list of numbers, counted from ``first``)

Rows are indexed in blocks, of which a build holds one at a time; within a block tokens ascend in the order of their
UTF-8 bytes, and rows ascend.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from snapshots.columns import search_column
from snapshots.data_files.stored_columns import lifted, stored_name
from snapshots.search.reuse import OlderBlock, OlderIndex
from snapshots.search.runs import PADDING, Runs, ragged
from snapshots.search.vocabulary import Vocabulary

BLOCK_ROWS: Final = 65_536
"""Rows in a block at most: as many as two bytes count."""
BLOCK_BYTES: Final = 64 << 20
"""A block ends after this many bytes of text, which bounds memory."""
LAYOUT: Final = 1
"""Counted up whenever the same texts give other records, so that no index of another layout is linked."""
_BATCH_ROWS: Final = 4096
"""Blocks begin at multiples of this number of rows, of which ``BLOCK_ROWS`` is one."""
_BETWEEN_BYTES: Final = 2 << 20
"""Bytes between words that are cut into tokens at a time; for Japanese this takes forty times the memory."""
_BATCH_BYTES: Final = 1 << 19
"""Bytes of text that are read and cut into runs at a time: the arrays made of them fit the processor's cache."""
_READ_BYTES: Final = 1 << 20
_HELD_BYTES: Final = 8 << 20
"""More bytes than the arrays of most batches take."""

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_SCHEMA: Final = pa.schema(
    [
        pa.field("field", pa.string(), nullable=False),
        pa.field("first", pa.int64(), nullable=False),
        pa.field("token", pa.string(), nullable=False),
        pa.field("rows", pa.list_(pa.field("element", pa.uint16(), nullable=False)), nullable=False),
    ]
)
_ROW_BITS: Final = 16
_COMPARED: Final = 1 << 15
"""Numbers that are compared at a time."""


def search_content(content: str) -> str:
    """Return the content digest of the index of a file with this content digest."""
    return sha256(f"search {LAYOUT} {content}".encode()).hexdigest()


def write_search_index(
    data: Path | pa.Buffer, fields: Sequence[str], path: Path, older: OlderIndex | None = None
) -> int:
    """Index the texts of a data file, on the disk or in memory, into a new file; return its number of records.

    The same texts give the same bytes; texts that are in ``older`` too take less time. Raises ``OSError`` and
    ``pyarrow.ArrowException``.
    """
    # After one large array is freed, the C library keeps freed memory, and need not take it again page by page.
    np.empty(_HELD_BYTES, np.uint8)
    written, numbers = 0, Vocabulary()
    with (
        pq.ParquetWriter(
            path,
            _SCHEMA,
            compression="zstd",
            compression_level=1,
            use_dictionary=["field"],
            column_encoding={
                "first": "DELTA_BINARY_PACKED",
                "token": "DELTA_BYTE_ARRAY",
                "rows.list.element": "DELTA_BINARY_PACKED",
            },
            write_statistics=["field", "first", "token"],
            store_schema=False,
        ) as writer,
        _Texts(data) as texts,
        _opened(older) as before,
    ):
        for field in fields:
            for table in _blocks(texts, field, before, numbers):
                if len(table):
                    writer.write_table(table, row_group_size=len(table))
                    written += len(table)
    return written


@contextmanager
def _opened(older: OlderIndex | None) -> Iterator[tuple[OlderIndex, _Texts] | None]:
    """Open an older index and its data file."""
    if older is None:
        yield None
        return
    with older, _Texts(older.data) as texts:
        yield older, texts


def _blocks(
    texts: _Texts, field: str, older: tuple[OlderIndex, _Texts] | None, numbers: Vocabulary
) -> Iterator[pa.Table]:
    at_once = texts.at_once(field)
    before: Iterator[OlderBlock] = iter(())
    if older is not None:
        before = older[0].blocks(field, older[1].batches(field, at_once))
    block: _Block | None = None
    for begins, batch in texts.batches(field, at_once):
        if block is None or begins:
            first = 0
            if block is not None:
                first = block.first + block.rows
                yield block.table()
            numbers.begin_block()
            block = _Block(field, first, next(before, None), numbers)
        block.add(batch)
    if block is not None:
        yield block.table()


class _Texts:
    """The texts of a data file, field by field. The file is opened once, however many fields it has."""

    def __init__(self, data: Path | pa.Buffer) -> None:
        # By default Arrow reads every row group's column ahead and holds on to all of them until the file is closed.
        readable = data if isinstance(data, Path) else pa.BufferReader(data)
        self._file = pq.ParquetFile(readable, pre_buffer=False, buffer_size=_READ_BYTES)
        footer = self._file.metadata
        self._rows: int = footer.num_rows
        self._bytes: Counter[str] = Counter()
        """The uncompressed bytes of each column, by its path in the schema."""
        for number in range(footer.num_row_groups):
            group = footer.row_group(number)
            for at in range(footer.num_columns):
                column = group.column(at)
                self._bytes[column.path_in_schema] += column.total_uncompressed_size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def at_once(self, field: str) -> int:
        """Return the number of texts of a field to read at a time: a part of ``_BATCH_ROWS``."""
        size = self._bytes[stored_name(search_column(field), self._bytes)]
        rows = _BATCH_ROWS
        while not rows % 2 and rows * size > _BATCH_BYTES * self._rows:
            rows //= 2
        return rows

    def batches(self, field: str, at_once: int) -> Iterator[tuple[bool, pa.StringArray]]:
        """Return a field's texts (NULL: no text), ``at_once`` at a time, each batch with whether it begins a block."""
        name = stored_name(search_column(field), self._bytes)
        if name not in self._bytes:
            return
        read = rows = size = 0
        for batch in self._file.iter_batches(at_once, columns=[name], use_threads=False):
            texts = lifted(batch, [search_column(field)]).column(0)
            coming = len(texts) if read % _BATCH_ROWS else min(_BATCH_ROWS, self._rows - read)
            begins = rows + coming > BLOCK_ROWS
            if not read % _BATCH_ROWS:
                begins |= not rows or size >= BLOCK_BYTES
            if begins:
                rows = size = 0
            yield begins, texts
            read += len(texts)
            rows += len(texts)
            size += pc.sum(pc.binary_length(texts)).as_py() or 0


class _Block:
    """The tokens of a block of neighbouring rows, while they are gathered."""

    def __init__(self, field: str, first: int, older: OlderBlock | None, numbers: Vocabulary) -> None:
        self.first = first
        self.rows = 0
        self._field, self._older = field, older
        self._numbers = numbers
        self._found: list[Array] = []
        """Token numbers, and in the lowest ``_ROW_BITS`` bits the rows that hold them."""
        self._between: list[tuple[pa.BinaryArray, Array]] = []
        """Runs between words, and their rows, to be cut into tokens for many rows at once."""
        self._between_rows = 0
        self._between_bytes = 0

    def add(self, texts: pa.StringArray) -> None:
        """Add the next rows' texts; NULL is no text."""
        first = self.rows
        self.rows += len(texts)
        if self._older is not None:
            texts = self._older.without_known(texts, first)
        self._add_texts(texts, first)

    def _add_texts(self, texts: pa.StringArray, first: int) -> None:
        runs = Runs(texts, first)
        self._add_words(runs)
        rows = runs.blanks()
        if len(rows):
            self._add(np.full(len(rows), self._numbers.number(b" "), np.uint32), rows)
        single, longer = runs.others()
        if len(single):
            self._add_single_bytes(runs.padded[runs.other_begins[single]], runs.other_rows[single])
        if len(longer):
            between = _texts(runs.padded, runs.other_begins[longer], runs.other_ends[longer])
            self._between.append((between, runs.other_rows[longer]))
            self._between_bytes += int((runs.other_ends[longer] - runs.other_begins[longer]).sum())
        self._between_rows += len(texts)
        if self._between_rows >= _BATCH_ROWS or self._between_bytes >= _BETWEEN_BYTES:
            self._add_between()

    def _add(self, numbers: Array, rows: Array) -> None:
        """Add tokens' numbers (uint32) and the rows that hold them (uint32)."""
        # Half the width sorts in half the time, and most blocks' tokens fit.
        if len(self._numbers) <= 1 << (32 - _ROW_BITS):
            found = numbers << np.uint32(_ROW_BITS)
        else:
            found = numbers.astype(np.uint64) << np.uint64(_ROW_BITS)
        found |= rows
        self._found.append(found)

    def _add_words(self, runs: Runs) -> None:
        if not len(runs.begins):
            return
        numbers = self._numbers.of_words(runs.padded, runs.begins, runs.lengths)
        if runs.lengths.max() > PADDING:
            longest = np.flatnonzero(runs.lengths > PADDING)  # words without a number, as ``of_words`` leaves them
            begins = runs.begins[longest]
            numbers[longest] = self._numbers.of_texts(_texts(runs.padded, begins, begins + runs.lengths[longest]))
        self._add(numbers, runs.rows())

    def _add_single_bytes(self, characters: Array, rows: Array) -> None:
        named = np.zeros(256, np.uint32)
        for character in np.flatnonzero(np.bincount(characters)).tolist():
            named[character] = self._numbers.number(bytes([character]))
        self._add(named[characters], rows)

    def _add_between(self) -> None:
        """Add the characters and pairs of neighbours of the runs between words."""
        self._between_rows = self._between_bytes = 0
        if not self._between:
            return
        runs = pa.concat_arrays([texts for texts, _ in self._between]).dictionary_encode()
        rows = np.concatenate([rows for _, rows in self._between])
        self._between.clear()
        run, token = self._characters([text.decode() for text in runs.dictionary.to_pylist()])
        pairs = distinct_sorted(runs.indices.to_numpy().astype(np.uint64) << np.uint64(_ROW_BITS) | rows)
        of_run = pairs >> np.uint64(_ROW_BITS)
        firsts = np.searchsorted(run, np.arange(len(runs.dictionary) + 1))
        counts = np.diff(firsts)[of_run]
        chosen = ragged(firsts[of_run], counts)
        self._add(token[chosen], np.repeat(pairs.astype(np.uint16).astype(np.uint32), counts))

    def _characters(self, runs: list[str]) -> tuple[Array, Array]:
        """Return (run, token number) of every character and pair in these runs, once for each run, runs ascending."""
        text = np.frombuffer("".join(runs).encode("utf-32-le"), np.uint32).astype(np.uint64)
        owner = np.repeat(np.arange(len(runs)), [len(run) for run in runs])
        inside = owner[1:] == owner[:-1]
        single, pairs = self._numbers.of_characters(text), self._numbers.of_pairs(text[:-1][inside], text[1:][inside])
        owners = np.concatenate([owner, owner[1:][inside]]).astype(np.uint64)
        both = distinct_sorted(owners << np.uint64(32) | np.concatenate([single, pairs]))
        return both >> np.uint64(32), both.astype(np.uint32)

    def table(self) -> pa.Table:
        """Return the block's records."""
        self._add_between()
        if self._older is not None:
            for numbers, rows in self._older.tokens(self._numbers.number):
                self._add(numbers, rows)
        found = np.concatenate(self._found) if self._found else np.zeros(0, np.uint32)
        self._found.clear()
        found.sort()
        found = found[: _keep_distinct(found)]
        named, order = self._numbers.ordered()
        firsts = np.arange(len(named), dtype=found.dtype) << found.dtype.type(_ROW_BITS)
        bounds = np.append(found.searchsorted(firsts), len(found))
        counts = np.diff(bounds)[order]
        used = np.flatnonzero(counts)
        order, counts = order[used], counts[used]
        # The lists of rows are moved, as bytes, into the order of tokens: less work than renumbering every token.
        kept, offsets = pa.py_buffer(found.astype(np.uint16)), pa.py_buffer(2 * bounds)
        lists = pa.Array.from_buffers(pa.large_binary(), len(named), [None, offsets, kept]).take(pa.array(order))
        ends = np.zeros(len(order) + 1, np.int32)
        np.cumsum(counts, out=ends[1:])
        rows = np.frombuffer(lists.buffers()[2], np.uint16, ends[-1]) if len(order) else np.zeros(0, np.uint16)
        return pa.table(
            [
                pa.array([self._field] * len(order), pa.string()),
                pa.array(np.full(len(order), self.first)),
                pa.array([named[number] for number in order.tolist()], pa.binary()).cast(pa.string()),
                pa.ListArray.from_arrays(pa.array(ends), pa.array(rows), type=_SCHEMA.field("rows").type),
            ],
            schema=_SCHEMA,
        )


def _keep_distinct(ascending: Array) -> int:
    """Move the distinct values to the front; return their number."""
    kept, before = 0, None
    for at in range(0, len(ascending), _COMPARED):
        part = ascending[at : at + _COMPARED]
        new = np.empty(len(part), dtype=bool)
        new[0] = part[0] != before
        before = part[-1]
        np.not_equal(part[1:], part[:-1], out=new[1:])
        many = int(np.count_nonzero(new))
        if kept != at or many < len(part):
            ascending[kept : kept + many] = part[new]
        kept += many
    return kept


def distinct_sorted(values: Array) -> Array:
    """Return the distinct values, ascending. Sorting numbers of this width takes less time than hashing."""
    ascending = np.sort(values)
    return ascending[: _keep_distinct(ascending)]


def _texts(data: Array, begins: Array, ends: Array) -> pa.BinaryArray:
    """Return the bytes of runs that ascend and do not overlap."""
    cuts = np.empty(2 * len(begins) + 1, np.int32)
    cuts[:-1:2] = begins
    cuts[1::2] = ends
    cuts[-1] = len(data)
    texts = pa.Array.from_buffers(pa.binary(), len(cuts) - 1, [None, pa.py_buffer(cuts), pa.py_buffer(data)])
    return texts.take(pa.array(np.arange(0, len(cuts) - 1, 2)))

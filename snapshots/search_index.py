"""Visible text → the search index of a data file, so that a term's rows are found without reading the text (design 3).

A text is cut into *words*, the longest runs of letters and digits of scripts that put spaces between words, and what
stands between them, which is indexed by single characters and pairs of neighbours, as Japanese needs. The index is a
Parquet file that lists for each of those tokens the rows that hold it:

    field (text) · first (the block's first row) · token (text) · rows (list of numbers, counted from ``first``)

Rows of the data file are taken in blocks, so that a build holds one block at a time; within a block tokens ascend in
the order of their UTF-8 bytes, and rows ascend.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from snapshots.columns import search_column
from snapshots.model import TEXT_TYPES, Api
from snapshots.search_reuse import OlderBlock, OlderIndex
from snapshots.text_runs import Runs, ragged

BLOCK_ROWS: Final = 65_536
"""At most as many rows as two bytes count."""
BLOCK_BYTES: Final = 64 << 20
"""A block ends after so many bytes of text: what bounds memory."""
SEARCH_COLUMNS: Final = ("field", "first", "token", "rows")
LAYOUT: Final = 1
"""Raised whenever other records come out for the same texts, so that no index of another layout is linked."""
_BATCH_ROWS: Final = 4096
_READ_BYTES: Final = 1 << 20

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_SCHEMA: Final = pa.schema(
    [
        pa.field("field", pa.string(), nullable=False),
        pa.field("first", pa.int64(), nullable=False),
        pa.field("token", pa.string(), nullable=False),
        pa.field("rows", pa.list_(pa.field("element", pa.uint16(), nullable=False)), nullable=False),
    ]
)
_SHORT: Final = 8
"""Words of at most so many bytes are told apart as numbers: most are, and texts cost five times as much."""
_KEPT_BITS: Final = np.array([(1 << (8 * length)) - 1 for length in range(_SHORT + 1)], dtype=np.uint64)
_SLOT_BITS: Final = 18
_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)
"""Multiplied by it, numbers that differ anywhere mostly differ in their highest bits."""
_PAIR_BITS: Final = 21
"""What a character's number needs."""


def indexed_fields(api: Api) -> list[str]:
    """The fields that the index of an API's files covers: all that are searched."""
    return [field.id for field in api.fields if field.type in TEXT_TYPES]


def search_content(content: str) -> str:
    """What the index of a file with this logical content is known by."""
    return sha256(f"search {LAYOUT} {content}".encode()).hexdigest()


def write_search_index(data: Path, fields: Sequence[str], place: Path, older: OlderIndex | None = None) -> int:
    """Index the texts of a data file into a new file at ``place``; return how many records it has.

    The same bytes for the same texts; those that are in ``older`` too take less time. Raises ``OSError`` and
    ``pyarrow.ArrowException``.
    """
    written = 0
    with pq.ParquetWriter(
        place,
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
    ) as writer:
        for field in fields:
            for table in _blocks(data, field, older):
                if len(table):
                    writer.write_table(table, row_group_size=len(table))
                    written += len(table)
    return written


def _blocks(data: Path, field: str, older: OlderIndex | None) -> Iterator[pa.Table]:
    before: Iterator[OlderBlock] = iter(())
    if older is not None:
        before = older.blocks(field, _batches(older.data, field))
    block: _Block | None = None
    for begins, texts in _batches(data, field):
        if block is None or begins:
            first = 0
            if block is not None:
                first = block.first + block.rows
                yield block.table()
            block = _Block(field, first, next(before, None))
        block.add(texts)
    if block is not None:
        yield block.table()


def _batches(data: Path, field: str) -> Iterator[tuple[bool, pa.StringArray]]:
    """The texts of a field, NULL where there is none, and whether a block begins with them."""
    name = search_column(field)
    # Without these, Arrow reads every row group's column ahead and holds on to all of them until the file is closed.
    with pq.ParquetFile(data, pre_buffer=False, buffer_size=_READ_BYTES) as file:
        if name not in file.schema_arrow.names:
            return
        rows = size = 0
        for batch in file.iter_batches(_BATCH_ROWS, columns=[name], use_threads=False):
            texts = batch.column(0)
            begins = not rows or rows + len(texts) > BLOCK_ROWS or size >= BLOCK_BYTES
            if begins:
                rows = size = 0
            yield begins, texts
            rows += len(texts)
            size += pc.sum(pc.binary_length(texts)).as_py() or 0


class _Block:
    """The tokens of some neighbouring rows, while they are gathered."""

    def __init__(self, field: str, first: int, older: OlderBlock | None) -> None:
        self.first = first
        self.rows = 0
        self._field, self._older = field, older
        self._numbers: dict[bytes, int] = {}
        self._slots = np.zeros(1 << _SLOT_BITS, np.uint64)
        """Short words so far, as numbers, each where its own bits put it; 0 is none."""
        self._slot_numbers = np.zeros(1 << _SLOT_BITS, np.uint32)
        self._found: list[tuple[Array, Array]] = []
        """Token numbers (uint32) and the rows that hold them (uint16)."""

    def add(self, texts: pa.StringArray) -> None:
        """Take the next rows' texts; NULL is no text."""
        first = self.rows
        self.rows += len(texts)
        if self._older is not None:
            texts = self._older.without_known(texts, first)
        self._add_texts(pc.fill_null(texts, ""), first)

    def _add_texts(self, texts: pa.StringArray, first: int) -> None:
        count = len(texts)
        _, ends, content = texts.buffers()
        starts = np.frombuffer(ends, np.int32, count + 1, texts.offset * 4)
        if starts[-1] == starts[0]:
            return
        data = np.frombuffer(content, np.uint8, int(starts[-1] - starts[0]), int(starts[0]))
        runs = Runs(data, starts - starts[0], first)
        begins, ends, rows = runs.words()
        lengths = ends - begins
        long = np.flatnonzero(lengths > _SHORT)
        if len(long):
            known, numbers = _texts(data, begins[long], ends[long])
            named = np.array([self._number(word) for word in known], dtype=np.uint32)
            self._found.append((named[numbers], rows[long]))
            short = np.flatnonzero(lengths <= _SHORT)
            begins, lengths, rows = begins[short], lengths[short], rows[short]
        self._add_short_words(data, begins, lengths, rows)
        for character, of_rows in runs.single_bytes():
            self._found.append((np.full(len(of_rows), self._number(bytes([character])), np.uint32), of_rows))
        begins, ends, rows = runs.between()
        if len(begins):
            self._add_characters(*_texts(data, begins, ends), rows)

    def _add_short_words(self, data: Array, begins: Array, lengths: Array, rows: Array) -> None:
        """Words of at most eight bytes, each read as one number; no word has a byte 0, so that none is another's."""
        if not len(begins):
            return
        padded = np.append(data, np.zeros(_SHORT, np.uint8))
        eights = np.ndarray((len(data),), "<u8", padded, strides=(1,))
        words = eights[begins]
        words &= _KEPT_BITS[lengths]
        slots = words * _SPREAD
        slots >>= np.uint64(64 - _SLOT_BITS)
        tokens = self._slot_numbers[slots]
        missed = np.flatnonzero(self._slots[slots] != words)
        if len(missed):
            tokens[missed] = self._short_tokens(words[missed])
        self._found.append((tokens, rows))

    def _short_tokens(self, words: Array) -> Array:
        """The token numbers of short words, which their slots have from now on."""
        encoded = pa.array(words).dictionary_encode()
        words = encoded.dictionary.to_numpy()
        texts = words.astype("<u8").tobytes()
        named = [self._number(texts[at : at + _SHORT].rstrip(b"\0")) for at in range(0, len(texts), _SHORT)]
        tokens: Array = np.array(named, dtype=np.uint32)
        slots = words * _SPREAD >> np.uint64(64 - _SLOT_BITS)
        # Of words that share a slot one has it, in both arrays the same.
        slots, at = np.unique(slots, return_index=True)
        self._slots[slots], self._slot_numbers[slots] = words[at], tokens[at]
        of_words: Array = tokens[encoded.indices.to_numpy()]
        return of_words

    def _add_characters(self, known: list[bytes], numbers: Array, rows: Array) -> None:
        """What stands between words: each run's characters and pairs of neighbours."""
        run, token = self._characters([text.decode() for text in known])
        pairs = distinct_sorted(numbers.astype(np.uint64) << np.uint64(16) | rows)
        of_run = pairs >> np.uint64(16)
        firsts = np.searchsorted(run, np.arange(len(known) + 1))
        counts = np.diff(firsts)[of_run]
        chosen = ragged(firsts[of_run], counts)
        self._found.append((token[chosen], np.repeat((pairs & np.uint64(0xFFFF)).astype(np.uint16), counts)))

    def _characters(self, runs: list[str]) -> tuple[Array, Array]:
        """(run, token number) for every single character and pair in these runs, each once a run, runs ascending."""
        text = np.frombuffer("".join(runs).encode("utf-32-le"), np.uint32).astype(np.uint64)
        owner = np.repeat(np.arange(len(runs)), [len(run) for run in runs])
        inside = owner[1:] == owner[:-1]
        pairs = (text[:-1] + np.uint64(1)) << np.uint64(_PAIR_BITS) | text[1:]
        grams = np.concatenate([text, pairs[inside]])
        owners = np.concatenate([owner, owner[1:][inside]])
        distinct, at = np.unique(grams, return_inverse=True)
        named = np.array([self._number(_gram(gram)) for gram in distinct.tolist()], dtype=np.uint32)
        both = distinct_sorted(owners.astype(np.uint64) << np.uint64(32) | at.astype(np.uint64))
        return both >> np.uint64(32), named[both & np.uint64(0xFFFFFFFF)]

    def _number(self, token: bytes) -> int:
        return self._numbers.setdefault(token, len(self._numbers))

    def table(self) -> pa.Table:
        """The block's records."""
        if self._older is not None:
            self._found += self._older.tokens(self._number)
        tokens = sorted(self._numbers)
        row_bits = max(self.rows - 1, 1).bit_length()
        # Half the width sorts in half the time, and most blocks' tokens and rows fit.
        width: Any = np.uint32 if len(tokens) << row_bits < 1 << 32 else np.uint64
        rank = np.empty(len(tokens), dtype=width)
        rank[[self._numbers[token] for token in tokens]] = np.arange(len(tokens), dtype=width) << width(row_bits)
        found = np.empty(sum(len(rows) for _, rows in self._found), dtype=width)
        at = 0
        for numbers, rows in self._found:
            part = found[at : at + len(rows)]
            np.take(rank, numbers, out=part, mode="clip")
            part |= rows
            at += len(rows)
        self._found.clear()
        found.sort()
        found = _distinct(found)
        ends = np.searchsorted(found, np.arange(len(tokens) + 1, dtype=width) << width(row_bits)).astype(np.int32)
        found &= width((1 << row_bits) - 1)
        lists = pa.ListArray.from_arrays(
            pa.array(ends), pa.array(found.astype(np.uint16)), type=_SCHEMA.field("rows").type
        )
        return pa.table(
            [
                pa.array([self._field] * len(tokens), pa.string()),
                pa.array(np.full(len(tokens), self.first)),
                pa.array(tokens, pa.binary()).cast(pa.string()),
                lists,
            ],
            schema=_SCHEMA,
        )


def distinct_sorted(values: Array) -> Array:
    """The distinct values, ascending. Sorting numbers of this width is quicker than hashing them."""
    return _distinct(np.sort(values))


def _distinct(ascending: Array) -> Array:
    if not len(ascending):
        return ascending
    new = np.empty(len(ascending), dtype=bool)
    new[0] = True
    np.not_equal(ascending[1:], ascending[:-1], out=new[1:])
    return ascending if new.all() else ascending[new]


def _texts(data: Array, begins: Array, ends: Array) -> tuple[list[bytes], Array]:
    """The distinct ones of some runs, and of each run the place there."""
    cuts = np.empty(2 * len(begins), np.int32)
    cuts[0::2], cuts[1::2] = begins, ends
    runs = pa.Array.from_buffers(pa.binary(), len(cuts) - 1, [None, pa.py_buffer(cuts), pa.py_buffer(data)])
    encoded = runs.take(pa.array(np.arange(0, len(cuts), 2))).dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()


def _gram(gram: int) -> bytes:
    before, last = gram >> _PAIR_BITS, gram & ((1 << _PAIR_BITS) - 1)
    return (chr(last) if not before else chr(before - 1) + chr(last)).encode()

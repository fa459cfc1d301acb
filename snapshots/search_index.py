"""Visible text → the search index of a data file, so that a term's rows are found without reading the text (design 3).

A text is cut into *words*, the longest runs of letters and digits of scripts that put spaces between words, and what
stands between them, which is indexed by single characters and pairs of neighbours, as Japanese needs. The index is a
Parquet file that lists for each of those tokens the rows that hold it:

    field (text) · first (the block's first row) · token (text) · rows (list of numbers, counted from ``first``)

Rows of the data file are taken in blocks, so that a build holds one block at a time; within a block tokens ascend in
the order of their UTF-8 bytes, and rows ascend.
"""

from __future__ import annotations

import re
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

BLOCK_ROWS: Final = 65_536
"""At most as many rows as two bytes count."""
BLOCK_BYTES: Final = 64 << 20
"""A block ends after so many bytes of text: what bounds memory."""
SEARCH_COLUMNS: Final = ("field", "first", "token", "rows")
LAYOUT: Final = 1
"""Raised whenever other records come out for the same texts, so that no index of another layout is linked."""
_BATCH_ROWS: Final = 4096

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_SCHEMA: Final = pa.schema(
    [
        pa.field("field", pa.string(), nullable=False),
        pa.field("first", pa.int64(), nullable=False),
        pa.field("token", pa.string(), nullable=False),
        pa.field("rows", pa.list_(pa.field("element", pa.uint16(), nullable=False)), nullable=False),
    ]
)
# A character belongs to words by the first byte of its UTF-8 form: ASCII letters and digits, the alphabets of two
# bytes (Latin to Arabic), and Hangul, written with spaces. All others, such as kana, Han and Thai, are told by pairs.
_WORD: Final = np.array(
    [(byte < 0x80 and chr(byte).isalnum()) or 0xC3 <= byte <= 0xDF or 0xEA <= byte <= 0xED for byte in range(256)]
)
_WORD_BYTES: Final = _WORD.tobytes()
_SHORT: Final = 8
"""Words of at most so many bytes are told apart as numbers: most are, and texts cost five times as much."""
_KEPT_BITS: Final = np.array([(1 << (8 * length)) - 1 for length in range(_SHORT + 1)], dtype=np.uint64)
_PAIR_BITS: Final = 21
"""What a character's number needs."""
_WORD_RUN: Final = re.compile("[0-9A-Za-z\u00c0-\u07ff\ua000-\ud7ff]+")
"""The same rule on text: what ``_WORD`` says of first bytes."""


def indexed_fields(api: Api) -> list[str]:
    """The fields that the index of an API's files covers: all that are searched."""
    return [field.id for field in api.fields if field.type in TEXT_TYPES]


def search_content(content: str) -> str:
    """What the index of a file with this logical content is known by."""
    return sha256(f"search {LAYOUT} {content}".encode()).hexdigest()


def word_runs(text: str) -> list[tuple[int, int]]:
    """Where the words of a text begin and end."""
    return [match.span() for match in _WORD_RUN.finditer(text)]


def write_search_index(data: Path, fields: Sequence[str], place: Path) -> int:
    """Index the texts of a data file into a new file at ``place``; return how many records it has.

    The same bytes for the same texts. Raises ``OSError`` and ``pyarrow.ArrowException``.
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
            for table in _blocks(data, field):
                if len(table):
                    writer.write_table(table, row_group_size=len(table))
                    written += len(table)
    return written


def _blocks(data: Path, field: str) -> Iterator[pa.Table]:
    with pq.ParquetFile(data) as file:
        block = _Block(field, 0)
        for batch in file.iter_batches(_BATCH_ROWS, columns=[search_column(field)], use_threads=False):
            texts = batch.column(0)
            if block.rows and (block.rows + len(texts) > BLOCK_ROWS or block.bytes >= BLOCK_BYTES):
                yield block.table()
                block = _Block(field, block.first + block.rows)
            block.add(texts)
        if block.rows:
            yield block.table()


class _Block:
    """The tokens of some neighbouring rows, while they are gathered."""

    def __init__(self, field: str, first: int) -> None:
        self.first = first
        self.rows = 0
        self.bytes = 0
        self._field = field
        self._numbers: dict[bytes, int] = {}
        self._short = np.empty(0, np.uint64)
        """The short words so far, as numbers, ascending."""
        self._short_numbers = np.empty(0, np.uint64)
        self._found: list[Array] = []

    def add(self, texts: pa.StringArray) -> None:
        """Take the next rows' texts; NULL is no text."""
        count, base = len(texts), self.rows
        self.rows += count
        texts = pc.fill_null(texts, "")
        _, ends, content = texts.buffers()
        starts = np.frombuffer(ends, np.int32, count + 1, texts.offset * 4)
        if starts[-1] == starts[0]:
            return
        data = np.frombuffer(content, np.uint8, int(starts[-1] - starts[0]), int(starts[0]))
        self.bytes += len(data)
        starts = starts - starts[0]
        cuts, is_word = _runs(data, starts)
        begins, lengths = cuts[:-1], np.diff(cuts)
        rows = np.repeat(np.arange(base, base + count, dtype=np.uint64), np.diff(np.searchsorted(cuts, starts)))
        is_short = is_word & (lengths <= _SHORT)
        is_single = ~is_word & (lengths == 1)
        short, single = np.flatnonzero(is_short), np.flatnonzero(is_single)
        self._add_short_words(data, begins[short], lengths[short], rows[short])
        self._add_single_bytes(data[begins[single]], rows[single])
        others = np.flatnonzero(~(is_short | is_single))
        if not len(others):
            return
        is_word, rows = is_word[others], rows[others]
        runs = pa.Array.from_buffers(pa.binary(), len(begins), [None, pa.py_buffer(cuts), pa.py_buffer(data)])
        encoded = runs.take(pa.array(others)).dictionary_encode()
        numbers = encoded.indices.to_numpy()
        known = encoded.dictionary.to_pylist()
        words, at = _compacted(numbers[is_word], len(known))
        named = np.array([self._number(known[number]) for number in words.tolist()], dtype=np.uint64)
        self._found.append(named[at] << np.uint64(16) | rows[is_word])
        between = ~is_word
        self._add_characters(known, numbers[between], rows[between])

    def _add_short_words(self, data: Array, begins: Array, lengths: Array, rows: Array) -> None:
        """Words of at most eight bytes, each read as one number; no word has a byte 0, so that none is another's."""
        if not len(begins):
            return
        padded = np.append(data, np.zeros(_SHORT, np.uint8))
        eights = np.ndarray((len(data),), "<u8", padded, strides=(1,))
        encoded = pa.array(eights[begins] & _KEPT_BITS[lengths]).dictionary_encode()
        words = encoded.dictionary.to_numpy()
        new = np.setdiff1d(words, self._short, assume_unique=True)
        if len(new):
            texts = new.astype("<u8").tobytes()
            named = [self._number(texts[at : at + _SHORT].rstrip(b"\0")) for at in range(0, len(texts), _SHORT)]
            together = np.append(self._short, new)
            order = np.argsort(together)
            self._short = together[order]
            self._short_numbers = np.append(self._short_numbers, np.array(named, dtype=np.uint64))[order]
        tokens = self._short_numbers[np.searchsorted(self._short, words)]
        self._found.append(tokens[encoded.indices.to_numpy()] << np.uint64(16) | rows)

    def _add_single_bytes(self, characters: Array, rows: Array) -> None:
        """Runs between words of one ASCII character, nearly always a blank: counted once a row."""
        if not len(characters):
            return
        first, count = rows[0], int(rows[-1] - rows[0]) + 1
        seen = np.zeros(0x80 * count, dtype=bool)
        seen[characters * np.int64(count) + (rows - first).astype(np.int64)] = True
        for character, of_rows in enumerate(seen.reshape(0x80, count)):
            if of_rows.any():
                token = np.uint64(self._number(bytes([character])))
                self._found.append(token << np.uint64(16) | np.flatnonzero(of_rows).astype(np.uint64) + first)

    def _add_characters(self, known: list[bytes], numbers: Array, rows: Array) -> None:
        """What stands between words: each run's characters and pairs of neighbours."""
        if not len(numbers):
            return
        distinct, at = _compacted(numbers, len(known))
        run, token = self._characters([known[number].decode() for number in distinct.tolist()])
        pairs = distinct_sorted(at << np.uint64(16) | rows)
        of_run, rows = pairs >> np.uint64(16), pairs & np.uint64(0xFFFF)
        firsts = np.searchsorted(run, np.arange(len(distinct) + 1))
        counts = np.diff(firsts)[of_run]
        chosen = ragged(firsts[of_run], counts)
        self._found.append(token[chosen] << np.uint64(16) | np.repeat(rows, counts))

    def _characters(self, runs: list[str]) -> tuple[Array, Array]:
        """(run, token number) for every single character and pair in these runs, each once a run, runs ascending."""
        text = np.frombuffer("".join(runs).encode("utf-32-le"), np.uint32).astype(np.uint64)
        owner = np.repeat(np.arange(len(runs)), [len(run) for run in runs])
        inside = owner[1:] == owner[:-1]
        pairs = (text[:-1] + np.uint64(1)) << np.uint64(_PAIR_BITS) | text[1:]
        grams = np.concatenate([text, pairs[inside]])
        owners = np.concatenate([owner, owner[1:][inside]])
        distinct, at = np.unique(grams, return_inverse=True)
        named = np.array([self._number(_gram(gram)) for gram in distinct.tolist()], dtype=np.uint64)
        both = distinct_sorted(owners.astype(np.uint64) << np.uint64(32) | at.astype(np.uint64))
        return both >> np.uint64(32), named[both & np.uint64(0xFFFFFFFF)]

    def _number(self, token: bytes) -> int:
        return self._numbers.setdefault(token, len(self._numbers))

    def table(self) -> pa.Table:
        """The block's records."""
        tokens = sorted(self._numbers)
        rank = np.empty(len(tokens), dtype=np.uint64)
        rank[[self._numbers[token] for token in tokens]] = np.arange(len(tokens), dtype=np.uint64)
        found = np.concatenate(self._found) if self._found else np.empty(0, np.uint64)
        self._found.clear()
        found = distinct_sorted(rank[found >> np.uint64(16)] << np.uint64(16) | found & np.uint64(0xFFFF))
        ends = np.searchsorted(found, np.arange(len(tokens) + 1, dtype=np.uint64) << np.uint64(16)).astype(np.int32)
        lists = pa.ListArray.from_arrays(
            pa.array(ends), pa.array((found & np.uint64(0xFFFF)).astype(np.uint16)), type=_SCHEMA.field("rows").type
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


def ragged(firsts: Array, counts: Array) -> Array:
    """The numbers from each of ``firsts`` on, as many as ``counts`` says, one after the other."""
    ends = np.cumsum(counts)
    return np.repeat(firsts - (ends - counts), counts) + np.arange(ends[-1] if len(ends) else 0)


def distinct_sorted(values: Array) -> Array:
    """The distinct values, ascending. Sorting numbers of this width is quicker than hashing them."""
    values = np.sort(values)
    return values[np.concatenate([[True], values[1:] != values[:-1]])] if len(values) else values


def _compacted(numbers: Array, below: int) -> tuple[Array, Array]:
    """The distinct ones of ``numbers``, which are below ``below``, ascending, and for each number its place there."""
    seen = np.zeros(below, dtype=bool)
    seen[numbers] = True
    distinct = np.flatnonzero(seen)
    place = np.zeros(below, dtype=np.uint64)
    place[distinct] = np.arange(len(distinct), dtype=np.uint64)
    return distinct, place[numbers]


def _gram(gram: int) -> bytes:
    before, last = gram >> _PAIR_BITS, gram & ((1 << _PAIR_BITS) - 1)
    return (chr(last) if not before else chr(before - 1) + chr(last)).encode()


def _runs(data: Array, starts: Array) -> tuple[Array, Array]:
    """Where the texts' runs begin, with the end of all, and for each run whether it is a word."""
    word = np.frombuffer(data.tobytes().translate(_WORD_BYTES), bool)
    if data.max() >= 0x80:
        inner = (data & 0xC0) == 0x80
        # Bytes within a character follow its first.
        firsts = np.flatnonzero(~inner)
        word = np.repeat(word[firsts], np.diff(np.append(firsts, len(data))))
    edge = np.empty(len(data), dtype=bool)
    edge[0] = True
    np.not_equal(word[1:], word[:-1], out=edge[1:])
    edge[starts[:-1][starts[:-1] < len(data)]] = True
    at = np.flatnonzero(edge)
    return np.append(at, len(data)).astype(np.int32), word[at]

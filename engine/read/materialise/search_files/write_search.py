"""Write the search file in the cache from a version's data files and indexes (form: ``files.search_arrays``)."""

from __future__ import annotations

import mmap
import os
import tempfile
import threading
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, Final, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.read.files.array_file import ALIGNMENT, ArrayFileWriter, Stored
from engine.read.files.search_arrays import bits_width, search_array
from engine.read.materialise.search_files.word_pieces import Pieces, Places, pieces_of, write_piece_rows
from snapshots.columns import search_column
from snapshots.data_files.stored_columns import lifted, stored_as
from snapshots.search.runs import ragged, word_runs
from snapshots.store.durable import allocate

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_ROWS_AT_ONCE: Final = 1024
_TOKENS_AT_ONCE: Final = 256
_SMALL_BLOCK: Final = 1 << 21
"""A block whose tokens have no more rows than this, all together, is read at once."""
_READ_BYTES: Final = 1 << 20
_DOTS: Final = 1 << 18
"""Bits that are unpacked at a time, a byte each: few enough to stay in the processor's cache."""
DENSE: Final = 32
"""Rows to a token's one: a token that is in a larger share of the rows than 1 / ``DENSE`` is kept as bits."""


class _Block(msgspec.Struct, frozen=True):
    """A block of the index, unpacked: its first row, and the number of rows of each of its tokens."""

    first: int
    counts: Array


class _Tokens(msgspec.Struct, frozen=True):
    """The tokens of a section in their final order: words, others, pieces of words."""

    texts: pa.BinaryArray
    words: int
    counts: Array
    """The number of rows that hold each token, and of each piece no fewer than hold it: what its words have."""
    number: Array
    """The token's number for each record of the index, in the order of the records."""
    ordered: Array
    """The words' numbers in the order of their bytes."""
    pieces: Pieces


class SearchWriter(ArrayFileWriter):
    """Writes a search file."""

    def __init__(self, path: Path, token: bytes) -> None:
        super().__init__(path, token)
        self._appending = threading.Lock()
        self._texts: dict[tuple[str, str], dict[str, Stored]] = {}

    def add_texts(self, lang: str, field: str, data: Path) -> None:
        """Write the texts of one field from a data file. Raises ``OSError`` and ``ArrowException``."""
        arrays = self._texts[lang, field] = {}
        self._write_texts(data, field, arrays)

    def add(self, lang: str, field: str, index: Path) -> None:
        """Complete the arrays of one field, whose texts are there, from the index. Several threads may do so at the
        same time, once all texts are there. Raises as ``add_texts``."""
        arrays = self._texts.pop((lang, field))
        rows = arrays["text_at"][2] - 1
        with tempfile.TemporaryFile(dir=self._path.parent) as unpacked:
            blocks, tokens = _unpack(index, field, unpacked)
            with self._appending:
                self._write_tokens(arrays, tokens)
                self._write_token_arrays(arrays, tokens, rows)
            self._write_rows(arrays, tokens, blocks, unpacked)
        self._arrays |= {search_array(lang, field, name): stored for name, stored in arrays.items()}

    def _write_tokens(self, arrays: dict[str, Stored], tokens: _Tokens) -> None:
        words = tokens.texts.slice(0, tokens.words)
        joined = b"\n".join([b"", *words.to_pylist(), b""])
        self._write(arrays, "words", np.frombuffer(joined, np.uint8))
        ends = np.cumsum(pc.binary_length(words).to_numpy() + 1)
        self._write(arrays, "word_at", np.concatenate([[1], ends + 1]).astype(np.int64))
        self._write(arrays, "ordered", tokens.ordered.astype(np.uint32))
        others = tokens.texts.slice(tokens.words)
        self._write(arrays, "others", np.frombuffer(b"".join(others.to_pylist()), np.uint8))
        ends = np.cumsum(pc.binary_length(others).to_numpy())
        self._write(arrays, "other_at", np.concatenate([[0], ends]).astype(np.int64))
        self._write(arrays, "counts", tokens.counts.astype(np.uint32))

    def _write_texts(self, data: Path, field: str, arrays: dict[str, Stored]) -> None:
        begin = self._aligned()
        ends = [np.zeros(1, np.int64)]
        # Arrow would read the whole column ahead, and hold on to it until the file is closed.
        with pq.ParquetFile(data, pre_buffer=False, buffer_size=_READ_BYTES) as file:
            name = search_column(field)
            stored = stored_as([name], file.schema_arrow)
            for batch in file.iter_batches(_ROWS_AT_ONCE, columns=stored, use_threads=False):
                part = lifted(batch, [name]).column(0)
                texts = pc.fill_null(part, "")
                _, offsets, content = texts.buffers()
                inside = np.frombuffer(offsets, np.int32, len(texts) + 1, texts.offset * 4)
                if inside[-1] > inside[0]:
                    self._file.write(memoryview(content)[int(inside[0]) : int(inside[-1])])
                ends.append(inside[1:].astype(np.int64) - int(inside[0]) + ends[-1][-1])
        arrays["texts"] = ("B", begin, self._file.tell() - begin)
        self._write(arrays, "text_at", np.concatenate(ends))

    def _write_token_arrays(self, arrays: dict[str, Stored], tokens: _Tokens, rows: int) -> None:
        """Write the arrays with the place of every token's rows, and reserve the space for the rows."""
        counts = np.minimum(tokens.counts, rows)
        dense = counts * DENSE > rows
        row_at = np.concatenate([[0], np.cumsum(np.where(dense, 0, counts))]).astype(np.int64)
        width = bits_width(rows)
        self._write(arrays, "row_at", row_at)
        self._write(arrays, "bits_at", np.where(dense, np.cumsum(dense) - 1, -1).astype(np.int64))
        begin = self._aligned()
        bits, size = _up(begin + int(row_at[-1]) * 4), int(dense.sum()) * width
        arrays["rows"], arrays["bits"] = ("I", begin, int(row_at[-1])), ("B", bits, size)
        self._file.flush()
        allocate(self._file.fileno(), begin, max(bits + size, begin + 1))
        self._file.seek(0, os.SEEK_END)

    def _write_rows(
        self, arrays: dict[str, Stored], tokens: _Tokens, blocks: list[_Block], unpacked: IO[bytes]
    ) -> None:
        """The rows of every token: scattered from the blocks of the index into the tokens' order."""

        unpacked.seek(0)
        with self._path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
            stored = {name: np.frombuffer(mapped, kind, count, at) for name, (kind, at, count) in arrays.items()}
            listed, bits_at, next_at = stored["rows"], stored["bits_at"], stored["row_at"][:-1].copy()
            dense = bits_at >= 0
            dotted = stored["bits"].reshape(-1, bits_width(arrays["text_at"][2] - 1))
            done = 0
            for block in blocks:
                counts = block.counts
                found = np.frombuffer(unpacked.read(int(counts.sum()) * 2), np.uint16)
                number = tokens.number[done : done + len(counts)]
                done += len(counts)
                ends = np.cumsum(counts)
                sparse = np.flatnonzero(~dense[number])
                few, some = number[sparse], counts[sparse]
                held = found[ragged(ends[sparse] - some, some)].astype(np.uint32)
                listed[ragged(next_at[few], some)] = held + np.uint32(block.first)
                next_at[few] += some
                those = np.flatnonzero(dense[number])
                firsts = ends[those] - counts[those]
                _mark(dotted, block.first, found, bits_at[number[those]], firsts, counts[those])
            bits = dotted.view(np.uint64)
            write_piece_rows(tokens.pieces, Places(stored["row_at"], bits_at, listed, bits, stored["counts"]))
            del stored, listed, bits_at, dotted, bits

    def _write(self, arrays: dict[str, Stored], name: str, values: Array) -> None:
        arrays[name] = (values.dtype.char, self._aligned(), len(values))
        self._file.write(values.data)


def _mark(dotted: Array, begin: int, rows: Array, lines: Array, firsts: Array, counts: Array) -> None:
    """Set the bits of a block's rows, which are counted from ``begin``. Each run is a line of ``dotted``, and the first
    of its rows in ``rows`` and how many they are."""
    even = begin & ~7
    shift, width = begin - even, begin - even + int(rows.max(initial=0)) + 1
    span = slice(even >> 3, (even >> 3) + -(-width // 8))
    at_once = max(1, _DOTS // width)
    for some in (slice(done, done + at_once) for done in range(0, len(lines), at_once)):
        dots = np.zeros((len(lines[some]), width), dtype=bool)
        for line, first, count in zip(dots[:, shift:], firsts[some].tolist(), counts[some].tolist(), strict=True):
            # NumPy casts them piece by piece otherwise, which takes half as long again.
            line[rows[first : first + count].astype(np.intp)] = True
        dotted[lines[some], span] |= np.packbits(dots, axis=1, bitorder="little")


def _up(at: int) -> int:
    return -(-at // ALIGNMENT) * ALIGNMENT


def _unpack(index: Path, field: str, unpacked: IO[bytes]) -> tuple[list[_Block], _Tokens]:
    """The blocks of a field and their tokens: words by how many rows hold them, the others by their bytes.

    The blocks' rows are written to ``unpacked``, two bytes each, since unpacking them once more costs much longer.
    """
    blocks, names = [], []
    # As for the texts, and a block's lists take a hundred megabytes to read as a whole.
    with pq.ParquetFile(index, pre_buffer=False, buffer_size=_READ_BYTES) as file:
        for number in _blocks_of(file, field):
            first, lengths = 0, []
            columns = ["first", "token", "rows"]
            group = file.metadata.row_group(number)
            small = group.column(group.num_columns - 1).num_values <= _SMALL_BLOCK
            at_once = group.num_rows if small else _TOKENS_AT_ONCE
            for batch in file.iter_batches(at_once, [number], columns=columns, use_threads=False):
                first = batch["first"][0].as_py()
                unpacked.write(batch["rows"].flatten().to_numpy().data)
                names.append(batch["token"])
                lengths.append(pc.list_value_length(batch["rows"]).to_numpy())
            blocks.append(_Block(first, np.concatenate(lengths).astype(np.int64)))
    if not names:
        nothing = np.zeros(0, np.int64)
        return [], _Tokens(
            pa.array([], pa.binary()), 0, nothing, nothing, nothing, pieces_of(pa.array([], pa.binary()))
        )
    return blocks, _tokens(pa.chunked_array(names), [block.counts for block in blocks])


def _tokens(names: pa.ChunkedArray, counted: list[Array]) -> _Tokens:
    """The tokens of a field's blocks: block by block each record's token, and of how many rows it tells."""
    counts = np.concatenate(counted)
    if len(counted) == 1:
        # A block has every token once, in the order of the bytes.
        texts, numbers = names.combine_chunks(), np.arange(len(names))
        by_bytes = numbers
    else:
        encoded = names.combine_chunks().dictionary_encode()
        texts, numbers = encoded.dictionary, encoded.indices.to_numpy().astype(np.int64)
        counts = np.bincount(numbers, counts, len(texts)).astype(np.int64)
        by_bytes = pc.array_sort_indices(texts.cast(pa.binary())).to_numpy()
    # A token is a word as a whole or not at all, so that its first character tells.
    initials = pc.utf8_slice_codeunits(texts, 0, 1).dictionary_encode()
    begins_word = np.array(list(map(_is_of_word, initials.dictionary.to_pylist())))
    of_words = begins_word[initials.indices.to_numpy()]
    words, others = by_bytes[of_words[by_bytes]], by_bytes[~of_words[by_bytes]]
    order = np.concatenate([words[np.argsort(-counts[words], kind="stable")], others])
    rank = np.empty(len(texts), np.int64)
    rank[order] = np.arange(len(texts))
    texts = texts.cast(pa.binary()).take(order)
    pieces = pieces_of(texts.slice(0, len(words)))
    counts = np.concatenate([counts[order], pieces.sums(counts[order])])
    return _Tokens(pa.concat_arrays([texts, pieces.texts]), len(words), counts, rank[numbers], rank[words], pieces)


@lru_cache(1 << 14)
def _is_of_word(character: str) -> bool:
    return bool(word_runs(character))


def _blocks_of(file: pq.ParquetFile, field: str) -> Iterator[int]:
    """The row groups of an index that are a field's blocks."""
    for number in range(file.num_row_groups):
        about = file.metadata.row_group(number).column(0).statistics
        if about is not None:
            is_field = about.min == about.max == field
        else:
            is_field = file.read_row_group(number, columns=["field"], use_threads=False)["field"][0].as_py() == field
        if is_field:
            yield number

"""The pieces of words: every character with the one that follows it in its word, or alone where it is the last.

A search for one or two characters within a word takes the rows of a few pieces, where it took those of all the words
that hold them; a piece has the rows of the words that it is a piece of.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa

from engine.read.files.search_arrays import PIECE
from snapshots.search.runs import ragged

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_LINE_FEED: Final = ord("\n")
_CHARACTER_BITS: Final = 21
_SECOND: Final = (1 << _CHARACTER_BITS) - 1
_LINES_AT_ONCE: Final = 256
"""Lines of bits that are joined at the same time, which takes memory for all of them."""
_ROWS_AT_ONCE: Final = 1 << 20
"""Rows of words that are joined at the same time."""


class Pieces(msgspec.Struct, frozen=True):
    """The pieces of the words of a field, each with all of its words after the other."""

    texts: pa.BinaryArray
    """Each after ``PIECE``, in the order of their bytes."""
    begins: Array
    """Where the words of each piece begin in ``words``, and after them where the last end."""
    words: Array
    """The numbers of words, ascending for each piece."""

    def sums(self, counts: Array) -> Array:
        """Add up the ``counts`` of the words of each piece."""
        return np.diff(np.concatenate([[0], np.cumsum(counts[self.words])])[self.begins])


def pieces_of(words: pa.BinaryArray) -> Pieces:
    """Return the pieces of these words, none of which is empty or has a line feed."""
    text = b"\n".join([b"", *words.to_pylist(), b""]).decode()
    characters = np.frombuffer(text.encode("utf-32-le"), np.uint32).astype(np.int64)
    ends = characters == _LINE_FEED
    at = (~ends).nonzero()[0]
    codes = (characters[at] << _CHARACTER_BITS) | np.where(ends[at + 1], 0, characters[at + 1])
    by_code = codes.argsort(kind="stable")
    codes, holders = codes[by_code], (np.cumsum(ends)[at] - 1)[by_code]
    is_new = _are_new(codes)
    once = is_new | _are_new(holders)  # a word may have a piece twice
    names = [
        PIECE + (chr(code >> _CHARACTER_BITS) + chr(code & _SECOND)).encode().removesuffix(b"\0")
        for code in codes[is_new].tolist()
    ]
    begins = np.concatenate([is_new[once].nonzero()[0], [np.count_nonzero(once)]])
    return Pieces(pa.array(names, pa.binary()), begins, holders[once])


class Places(msgspec.Struct, frozen=True):
    """The arrays of a field that tell the rows of its tokens (``search_arrays``), words first and pieces last."""

    row_at: Array
    bits_at: Array
    rows: Array
    lines: Array
    """The lines of ``bits``."""
    counts: Array


def write_piece_rows(pieces: Pieces, places: Places) -> None:
    """Write the rows of the pieces, and how many these are, from those of their words. The arrays have the room."""
    first = len(places.bits_at) - len(pieces.texts)
    is_line = places.bits_at[first:] >= 0
    for piece in is_line.nonzero()[0].tolist():
        words = pieces.words[pieces.begins[piece] : pieces.begins[piece + 1]]
        places.counts[first + piece] = _join_lines(places, words, places.lines[places.bits_at[first + piece]])
    _join_numbers(pieces, places, first, (~is_line).nonzero()[0])


def _join_lines(places: Places, words: Array, line: Array) -> int:
    """Set the rows of any of the words in a line without any; return how many these are."""
    joined, every = line.view(np.uint64), places.lines.view(np.uint64)
    lines = places.bits_at[words]
    dense, sparse = lines[lines >= 0], words[lines < 0]
    for at in range(0, len(dense), _LINES_AT_ONCE):
        joined |= np.bitwise_or.reduce(every.take(dense[at : at + _LINES_AT_ONCE], axis=0), axis=0)
    if len(sparse):
        marks = np.zeros(len(line) * 8, bool)
        marks[places.rows[ragged(places.row_at[sparse], places.counts[sparse].astype(np.int64))]] = True
        line |= np.packbits(marks, bitorder="little")
    return int(np.bitwise_count(joined).sum())


def _join_numbers(pieces: Pieces, places: Places, first: int, those: Array) -> None:
    """Write the rows of pieces that have few, as all their words have."""
    width = places.lines.shape[1] * 8
    held = np.diff(pieces.begins)[those]
    words = pieces.words[ragged(pieces.begins[those], held)]
    counts = places.counts[words].astype(np.int64)
    owners = np.repeat(np.arange(len(those)), held)
    ends, spent = np.cumsum(held), np.cumsum(counts)
    at, done = 0, 0  # pieces and words that are joined
    while at < len(those):
        most = (spent[done - 1] if done else 0) + _ROWS_AT_ONCE
        end = max(at + 1, int(np.searchsorted(ends, np.searchsorted(spent, most, side="right"), side="right")))
        some = slice(done, ends[end - 1])
        rows = places.rows[ragged(places.row_at[words[some]], counts[some])]
        found = np.sort(np.repeat(owners[some] * width, counts[some]) + rows)
        piece, row = np.divmod(found[_are_new(found)], width)
        number = np.bincount(piece - at, minlength=end - at)
        tokens = first + those[at:end]
        places.rows[ragged(places.row_at[tokens], number)] = row
        places.counts[tokens] = number
        at, done = end, int(ends[end - 1])


def _are_new(values: Array) -> Array:
    """Tell which values differ from the one before."""
    return np.concatenate([np.ones(min(1, len(values)), bool), values[1:] != values[:-1]])

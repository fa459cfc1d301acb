"""The pieces of words: every character with the one that follows it in its word, or alone where it is the last.

A search for one or two characters within a word takes the rows of a few pieces, where it took those of all the words
that hold them; a piece has the rows of the words that it is a piece of.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa

from engine.read.files.search_arrays import PIECE
from engine.read.search.row_bits import packed
from snapshots.search.runs import ragged

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_LINE_FEED: Final = ord("\n")
_CHARACTER: Final = 16
"""Bits of a character of a word (``snapshots.search.runs``)."""
_WORD: Final = 31
"""Bits of the number of a word."""
_ROW: Final = (1 << 32) - 1
_AT_ONCE: Final = 1 << 18
"""Characters, rows of words, or words of lines of bits that are worked on at the same time, which takes memory for all
of them."""


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
        held = counts[self.words].astype(np.int64)
        return np.add.reduceat(held, self.begins[:-1]) if len(held) else held

    def among(self, some: slice) -> Pieces:
        """Return some of the pieces."""
        begins = self.begins[some.start : some.stop + 1]
        return Pieces(self.texts[some], begins - begins[0], self.words[begins[0] : begins[-1]])


def pieces_of(words: pa.BinaryArray) -> Pieces:
    """Return the pieces of these words, none of which is empty or has a line feed."""
    text = b"\n".join([b"", *words.to_pylist(), b""]).decode()
    parts, word = [np.zeros(0, np.int64)], -1  # the word at hand, which a line feed begins
    for first in range(0, len(text) - 1, _AT_ONCE):
        # With one character more, which is the next after the last.
        characters = np.frombuffer(text[first : first + _AT_ONCE + 1].encode("utf-32-le"), np.uint32).astype(np.int64)
        ends = characters == _LINE_FEED
        at = (~ends[:-1]).nonzero()[0]
        codes = (characters[at] << _CHARACTER) | np.where(ends[at + 1], 0, characters[at + 1])
        number = word + np.cumsum(ends[:-1])
        parts.append(_distinct((codes << _WORD) | number[at]))
        word = int(number[-1])
    held = _distinct(np.concatenate(parts))
    codes = held >> _WORD
    begins = _are_new(codes).nonzero()[0]
    names = [
        PIECE + (chr(code >> _CHARACTER) + chr(code & ((1 << _CHARACTER) - 1))).encode().removesuffix(b"\0")
        for code in codes[begins].tolist()
    ]
    return Pieces(pa.array(names, pa.binary()), np.append(begins, len(held)), held & ((1 << _WORD) - 1))


class Places(msgspec.Struct, frozen=True):
    """The arrays of a field that tell the rows of its tokens (``search_arrays``), words first and pieces last."""

    row_at: Array
    bits_at: Array
    rows: Array
    bits: Array
    """A line a token, 64 rows a word."""
    counts: Array

    @property
    def words(self) -> int:
        """The words of a line."""
        return int(self.bits.shape[1])


def write_piece_rows(pieces: Pieces, places: Places) -> None:
    """Write the rows of the pieces, and how many these are, from those of their words. The arrays have the room."""
    first = len(places.bits_at) - len(pieces.texts)
    for some in _chunks(np.diff(pieces.begins)):
        lines = places.bits_at[first:][some]
        _join_lines(pieces.among(some), places, lines)
        _join_numbers(pieces.among(some), places, first + some.start, (lines < 0).nonzero()[0])
        with_line = (lines >= 0).nonzero()[0]
        for those in _chunks(np.full(len(with_line), places.words)):
            of_rows = places.bits[lines[with_line[those]]]
            places.counts[first + some.start + with_line[those]] = np.bitwise_count(of_rows).sum(axis=1)


def _join_lines(pieces: Pieces, places: Places, lines: Array) -> None:
    """Set the rows of all their words in the ``lines`` of pieces, which have none; a piece without one has -1."""
    bits = places.bits
    of_piece = np.repeat(lines, np.diff(pieces.begins))
    targets, words = of_piece[of_piece >= 0], pieces.words[of_piece >= 0]
    sources = places.bits_at[words]
    to, of = targets[sources >= 0], sources[sources >= 0]
    for some in _chunks(np.full(len(to), places.words)):
        starts = _are_new(to[some]).nonzero()[0]
        bits[to[some][starts]] |= np.bitwise_or.reduceat(bits.take(of[some], axis=0), starts, axis=0)
    to, words = targets[sources < 0], words[sources < 0]
    counts, width = places.counts[words].astype(np.int64), places.words * 64
    for some in _chunks(counts + _are_new(to) * width):
        is_new = _are_new(to[some])
        rows = places.rows[ragged(places.row_at[words[some]], counts[some])]
        marks = np.zeros(np.count_nonzero(is_new) * width, bool)
        marks[np.repeat((np.cumsum(is_new) - 1) * width, counts[some]) + rows] = True
        bits[to[some][is_new]] |= packed(marks).reshape(-1, places.words)


def _join_numbers(pieces: Pieces, places: Places, first: int, those: Array) -> None:
    """Write the rows of ``those`` pieces, which have few, as all their words have."""
    begins, held = pieces.begins[those], np.diff(pieces.begins)[those]
    for some in _chunks(pieces.sums(places.counts)[those]):
        words = pieces.words[ragged(begins[some], held[some])]
        counts = places.counts[words].astype(np.int64)
        rows = places.rows[ragged(places.row_at[words], counts)]
        number = np.repeat(np.arange(len(held[some])), held[some])
        found = _distinct((np.repeat(number, counts) << 32) + rows)
        tokens, counts = first + those[some], np.bincount(found >> 32, minlength=len(held[some]))
        places.rows[ragged(places.row_at[tokens], counts)] = found & _ROW
        places.counts[tokens] = counts


def _chunks(costs: Array) -> Iterator[slice]:
    """Yield ranges of neighbours that cost about ``_AT_ONCE`` together, or are alone."""
    ends, at = np.cumsum(costs), 0
    while at < len(ends):
        done = ends[at - 1] if at else 0
        end = max(at + 1, int(np.searchsorted(ends, done + _AT_ONCE, side="right")))
        yield slice(at, end)
        at = end


def _distinct(values: Array) -> Array:
    """Return each value once, ascending; NumPy's own way takes ten times as long."""
    ascending = np.sort(values)
    return ascending[_are_new(ascending)]


def _are_new(values: Array) -> Array:
    """Tell which values differ from the one before."""
    return np.concatenate([np.ones(min(1, len(values)), bool), values[1:] != values[:-1]])

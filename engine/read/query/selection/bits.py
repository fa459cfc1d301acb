"""Sets of an API's rows: one stretch of them, or one bit a row, an eighth of a byte of memory, joined 64 at a time."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from engine.read.search.placed_rows import PlacedRows

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Bits: TypeAlias = "np.ndarray[Any, np.dtype[np.uint64]]"
"""Row n is bit n % 64 of word n // 64. Bits past the last row mean nothing."""
RowSet: TypeAlias = "range | Bits | PlacedRows"
"""A stretch of rows, of step 1, or any set."""
_WORD = 64
_ALL = (1 << _WORD) - 1


def bits_of(marks: Array) -> Bits:
    """Pack one truth value a row."""
    packed = np.zeros(-(-len(marks) // _WORD) * (_WORD // 8), np.uint8)
    packed[: -(-len(marks) // 8)] = np.packbits(marks, bitorder="little")
    return packed.view(np.uint64)


def bits_at(rows: Array, count: int) -> Bits:
    """Pack the set of these rows, of ``count`` in all."""
    marks = np.zeros(count, bool)
    marks[rows] = True
    return bits_of(marks)


def as_bits(rows: RowSet, count: int) -> Bits:
    """Return a set of rows, of ``count`` in all, as bits."""
    if isinstance(rows, PlacedRows):
        marks = np.zeros(count, bool)
        rows.copy_to(marks)
        return bits_of(marks)
    if not isinstance(rows, range):
        return rows
    bits = np.zeros(-(-count // _WORD), np.uint64)
    if rows:
        word, last = rows.start // _WORD, (rows.stop - 1) // _WORD
        bits[word : last + 1] = _ALL
        bits[word] &= _ALL << rows.start % _WORD & _ALL
        bits[last] &= _ALL >> -rows.stop % _WORD
    return bits


def in_both(one: RowSet, other: RowSet, count: int) -> RowSet:
    """Return the rows, of ``count`` in all, that are in both sets."""
    if isinstance(one, range) and isinstance(other, range):
        return range(max(one.start, other.start), max(min(one.stop, other.stop), one.start, other.start))
    return as_bits(one, count) & as_bits(other, count)


def in_either(one: RowSet, other: RowSet, count: int) -> RowSet:
    """Return the rows, of ``count`` in all, that are in one of two sets, or in both."""
    return as_bits(one, count) | as_bits(other, count)


def marks_of(bits: Bits, count: int) -> Array:
    """Unpack one truth value a row, of ``count`` rows."""
    return np.unpackbits(bits.view(np.uint8), count=count, bitorder="little").view(np.bool_)


def size_of(bits: Bits) -> int:
    """Count the rows of a set."""
    return int(np.bitwise_count(bits).sum())


def page_of(bits: Bits, offset: int, limit: int) -> tuple[int, list[int]]:
    """Count the rows of a set that means something in every bit, and return ``limit`` of them, ascending, from
    ``offset`` on."""
    counts = np.bitwise_count(bits).cumsum(dtype=np.int64)
    total = int(counts[-1]) if len(counts) else 0
    end = min(offset + limit, total)
    if offset >= end:
        return total, []
    first, last = counts.searchsorted((offset, end - 1), "right").tolist()
    words = bits[first : last + 1]
    skipped = offset - (int(counts[first - 1]) if first else 0)
    rows = marks_of(words, len(words) * _WORD).nonzero()[0][skipped : skipped + end - offset] + first * _WORD
    return total, rows.tolist()

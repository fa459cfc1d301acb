"""Rows of all parts as bits, which are joined 64 at a time.

Every part has the same number of bits, a multiple of 64, for the rows it has in a language, and some to spare.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Bits: TypeAlias = "np.ndarray[Any, np.dtype[np.uint64]]"
"""Bit n % 64 of word n // 64 stands for the row at place n."""

_WORDS: Final = 3
"""Words that are packed in the time in which one place is marked."""
_FEW_WORDS: Final = 4
"""The words that are unpacked alone in the time in which so many are unpacked with all others."""


class RowBits:
    """The places of the rows of a language: those of the first part, then its spare ones, then those of the second."""

    def __init__(self, counts: Sequence[int]) -> None:
        """``counts`` has the number of rows of each part, of one part at least."""
        self.parts: Final = len(counts)
        self.words: Final = -(-max(counts) // 64)
        """The words of a part."""
        self.stride: Final = self.words * 64
        """The places of a part."""
        self.rows: Final = sum(counts)
        """The number of all rows."""
        marks = np.arange(self.stride) >= np.asarray(counts)[:, None]
        self.spare: Final[Bits] = packed(marks.ravel())
        """The places that no row has."""


def marked_in(bits: Bits) -> int:
    """Count the places that are marked."""
    return int(np.bitwise_count(bits).sum())


def unmarked_in(bits: Bits) -> int:
    """Count the places that are not marked."""
    return len(bits) * 64 - marked_in(bits)


def packed(marks: Array) -> Bits:
    """Pack truth values, a multiple of 64."""
    return np.packbits(marks, bitorder="little").view(np.uint64)


def unpacked(bits: Bits) -> Array:
    """Unpack one truth value a place."""
    return np.unpackbits(bits.view(np.uint8), bitorder="little").view(np.bool_)


def places_in(bits: Bits) -> Array:
    """Return the places that are marked, ascending."""
    words = bits.nonzero()[0]
    if len(words) * _FEW_WORDS > len(bits):
        every: Array = unpacked(bits).nonzero()[0]
        return every
    inside = unpacked(bits[words]).nonzero()[0]
    return (words.take(inside >> 6) << 6) + (inside & 63)


def mark_places(bits: Bits, places: Array) -> None:
    """Mark places, which are whole numbers of 64 bits."""
    if len(places) * _WORDS <= len(bits):
        np.bitwise_or.at(bits, places >> 6, np.uint64(1) << (places & 63).astype(np.uint64))
        return
    marks = np.zeros(len(bits) * 64, bool)
    marks[places] = True
    bits |= packed(marks)

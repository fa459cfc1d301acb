"""UTF-8 texts in one buffer → their runs: where words begin and end, and what stands between them (search_index.py)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

# A character belongs to words by the first byte of its UTF-8 form: ASCII letters and digits, the alphabets of two
# bytes (Latin to Arabic), and Hangul, written with spaces. All others, such as kana, Han and Thai, are told by pairs.
_WORD: Final = np.array(
    [(byte < 0x80 and chr(byte).isalnum()) or 0xC3 <= byte <= 0xDF or 0xEA <= byte <= 0xED for byte in range(256)]
)
_WORD_BYTES: Final = _WORD.tobytes()
_BLANK: Final = ord(" ")
_WORD_RUN: Final = re.compile("[0-9A-Za-z\u00c0-\u07ff\ua000-\ud7ff]+")
"""The same rule on text."""


def word_runs(text: str) -> list[tuple[int, int]]:
    """Where the words of a text begin and end."""
    return [match.span() for match in _WORD_RUN.finditer(text)]


def ragged(firsts: Array, counts: Array) -> Array:
    """The numbers from each of ``firsts`` on, as many as ``counts`` says, one after the other."""
    ends = np.cumsum(counts)
    return np.repeat(firsts - (ends - counts), counts) + np.arange(ends[-1] if len(ends) else 0)


def _ascii_words(data: Array) -> Array:
    """Which bytes of ASCII text are letters or digits: what ``_WORD`` says, in less than half the time."""
    folded = data | np.uint8(0x20)
    folded -= np.uint8(ord("a"))
    word: Array = folded < 26
    np.subtract(data, np.uint8(ord("0")), out=folded)
    word |= folded < 10
    return word


class Runs:
    """Neighbouring texts cut into words and what stands between them; runs end with the text they are in."""

    def __init__(self, data: Array, starts: Array, first_row: int) -> None:
        """``starts`` are where the texts begin, with the end of the last; there is at least one byte."""
        if data.max() < 0x80:
            word = _ascii_words(data)
        else:
            word = np.frombuffer(data.tobytes().translate(_WORD_BYTES), bool)
            inner = (data & 0xC0) == 0x80
            # Bytes within a character follow its first.
            firsts = np.flatnonzero(~inner)
            word = np.repeat(word[firsts], np.diff(np.append(firsts, len(data))))
        edge = np.empty(len(data) + 1, dtype=bool)
        np.not_equal(word[1:], word[:-1], out=edge[1:-1])
        edge[starts] = True
        self._data, self._starts, self._first_row = data, starts, first_row
        self._word, self._begins, self._ends = word, edge[:-1], edge[1:]

    def words(self) -> tuple[Array, Array, Array]:
        """Where the words begin and end, and their rows (uint16)."""
        begins = np.flatnonzero(self._begins & self._word)
        return begins, np.flatnonzero(self._ends & self._word) + 1, self._rows(begins)

    def single_bytes(self) -> Iterator[tuple[int, Array]]:
        """The runs between words of one ASCII character: the characters, and the rows that hold such a run."""
        single = self._begins & self._ends & ~self._word
        blank = single & (self._data == _BLANK)
        # Nearly all are blanks, of which nothing counts but whether a text has one.
        filled = np.flatnonzero(self._starts[1:] > self._starts[:-1])
        with_blank = filled[np.maximum.reduceat(blank.view(np.uint8), self._starts[filled]) > 0]
        if len(with_blank):
            yield _BLANK, (with_blank + self._first_row).astype(np.uint16)
        single ^= blank
        if not single.any():
            return
        others = np.flatnonzero(single)
        characters, rows = self._data[others], self._rows(others)
        for character in np.flatnonzero(np.bincount(characters)).tolist():
            yield character, rows[characters == character]

    def between(self) -> tuple[Array, Array, Array]:
        """Where longer runs between words begin and end, and their rows (uint16)."""
        begins = np.flatnonzero(self._begins & ~self._ends & ~self._word)
        if not len(begins):
            return begins, begins, begins
        # A run that does not end where it begins ends at the next byte that ends one without beginning it.
        return begins, np.flatnonzero(self._ends & ~self._begins & ~self._word) + 1, self._rows(begins)

    def _rows(self, places: Array) -> Array:
        counts = np.diff(np.searchsorted(places, self._starts))
        return np.repeat(np.arange(self._first_row, self._first_row + len(counts), dtype=np.uint16), counts)

"""UTF-8 texts in one buffer → their runs: where words begin and end, and what stands between them (search_index.py)."""

from __future__ import annotations

import re
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


def _words(data: Array) -> Array:
    """Which bytes of any text belong to words."""
    word: Array = np.frombuffer(bytearray(data.tobytes().translate(_WORD_BYTES)), bool)
    inner = (data[1:] & 0xC0) == 0x80
    # Up to three bytes within a character follow its first; none of them is a word's by itself.
    for _ in range(3):
        word[1:] |= inner & word[:-1]
    return word


class Runs:
    """Neighbouring texts cut into words and what stands between them; runs end with the text they are in."""

    def __init__(self, data: Array, starts: Array, first_row: int) -> None:
        """``starts`` are where the texts begin, with the end of the last; there is at least one byte."""
        word = _ascii_words(data) if data.max() < 0x80 else _words(data)
        edge = np.empty(len(data) + 1, dtype=bool)
        np.not_equal(word[1:], word[:-1], out=edge[1:-1])
        edge[starts] = True
        bounds = np.flatnonzero(edge)
        self.begins = bounds[:-1]
        self.lengths = np.diff(bounds)
        """In bytes; a run ends where the next begins."""
        firsts = np.searchsorted(self.begins, starts)
        rows = np.arange(first_row, first_row + len(starts) - 1, dtype=np.uint16)
        self.rows = np.repeat(rows, np.diff(firsts))
        """The text that each run is in (uint16)."""
        self._data, self._word = data, word.take(self.begins)
        self._firsts, self._first_row = firsts, first_row
        # Nearly all between words are single blanks, of which nothing counts but whether a text has one.
        self._blank = data.take(self.begins) == _BLANK
        self._blank &= self.lengths == 1

    def words(self, short: int) -> tuple[Array, Array]:
        """The runs that are words: those of at most so many bytes, and longer ones."""
        longer = self.lengths > short
        longer &= self._word
        return np.flatnonzero(self._word & ~longer), np.flatnonzero(longer)

    def blanks(self) -> Array:
        """The texts that hold a single blank between words (uint16)."""
        filled = np.flatnonzero(self._firsts[1:] > self._firsts[:-1])
        held = np.maximum.reduceat(self._blank.view(np.uint8), self._firsts[filled])
        return (filled[held > 0] + self._first_row).astype(np.uint16)

    def others(self) -> tuple[Array, Array]:
        """The other runs between words: those of one byte, and longer ones."""
        others = np.flatnonzero(~(self._word | self._blank))
        single = self.lengths[others] == 1
        return others[single], others[~single]

"""The tokenizer: find the bounds of words, and of the runs between them, in a buffer of UTF-8 texts (index.py)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

# Slow to import, and a server, which cuts only the terms of searches, does not need it.
if TYPE_CHECKING:
    import pyarrow as pa

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_BLANK: Final = ord(" ")
_END: Final = "\0"
PADDING: Final = 16
"""Bytes that follow the last text of ``Runs``."""
# A character belongs to words by the first byte of its UTF-8 form: ASCII letters and digits, the alphabets of two
# bytes (Latin to Arabic), and Hangul, written with spaces. All others, such as kana, Han and Thai, are told by pairs.
_WORD_RUN: Final = re.compile("[0-9A-Za-z\u00c0-\u07ff\ua000-\ud7ff]+")
"""The rule of ``_words`` for text."""


def word_runs(text: str) -> list[tuple[int, int]]:
    """Return the begin and end of each word of a text."""
    return [match.span() for match in _WORD_RUN.finditer(text)]


def ragged(firsts: Array, counts: Array) -> Array:
    """Return for each of ``firsts`` the numbers from it on, as many as ``counts`` has, one list after the other."""
    ends = np.cumsum(counts)
    return np.repeat(firsts - (ends - counts), counts) + np.arange(ends[-1] if len(ends) else 0)


def _ascii_words(data: Array, word: Array) -> None:
    """Set ``word`` where bytes are ASCII letters or digits."""
    folded = data | np.uint8(0x20)
    folded -= np.uint8(ord("a"))
    np.less(folded, 26, out=word)
    np.subtract(data, np.uint8(ord("0")), out=folded)
    word |= folded < 10


def _words(data: Array, word: Array) -> None:
    """Set ``word`` where bytes of any text belong to words."""
    _ascii_words(data, word)
    word |= data - np.uint8(0xC3) <= 0xDF - 0xC3
    word |= data - np.uint8(0xEA) <= 0xED - 0xEA
    within = (data & np.uint8(0xC0)) == 0x80
    # The one or two further bytes of a word's character belong to the word too.
    for _ in range(2):
        word[1:] |= within[1:] & word[:-1]


class Runs:
    """Neighbouring texts cut into words and the runs between them; no run goes beyond its text."""

    def __init__(self, texts: pa.StringArray, first_row: int) -> None:
        """``texts`` has at least one text; NULL counts as an empty one."""
        import pyarrow.compute as pc  # noqa: PLC0415 - 0.2 s, and a server needs it for nothing

        count = len(texts)
        # A byte of no word ends each text, so that words begin and end in turns.
        joined = pc.binary_join_element_wise(texts, _ends(count), "", null_handling="replace")
        _, offsets, content = joined.buffers()
        starts = np.frombuffer(offsets, np.int32, count + 1).astype(np.int64)
        starts[-1] -= PADDING
        self._rows = np.arange(first_row, first_row + count, dtype=np.uint32)
        self.padded = np.frombuffer(content, np.uint8, int(starts[-1]) + PADDING)
        """The bytes, and ``PADDING`` more, so that as many can be read from any word's begin."""
        data = self.padded[:-PADDING]
        word = np.zeros(len(data) + 1, dtype=bool)
        (_ascii_words if data.max() < 0x80 else _words)(data, word[1:])
        bounds = _changes(word)
        self.begins = bounds[::2]
        """The positions at which words begin."""
        self.lengths = bounds[1::2] - self.begins
        """The number of bytes of each word."""
        firsts = bounds.searchsorted(starts) >> 1
        self.counts = firsts[1:] - firsts[:-1]
        """The number of words of each text."""
        # Most runs between words are single blanks; the index only tells which texts have any of them.
        blank = data == _BLANK
        blank[:-1] &= word[2:]
        blank &= word[:-1]
        self._blank = np.bitwise_or.reduceat(blank, starts[:-1])
        word[1:] |= blank
        self._find_others(_changes(word), starts)

    def _find_others(self, bounds: Array, starts: Array) -> None:
        """Find the runs that are no words and no single blanks; ``bounds`` are those of words with the blanks between.

        Empty runs are among them, as the begin and end of every text are bounds too.
        """
        ends = starts[1:] - 1
        self.other_begins = np.concatenate([starts[:-1], bounds[1::2]])
        self.other_begins.sort()
        self.other_ends = np.concatenate([bounds[::2], ends])
        self.other_ends.sort()
        firsts = self.other_begins.searchsorted(starts)
        self.other_rows = self._rows.repeat(firsts[1:] - firsts[:-1])

    def rows(self) -> Array:
        """Return the row of the text that each word is in (uint32)."""
        return self._rows.repeat(self.counts)

    def blanks(self) -> Array:
        """Return the rows of the texts that hold a single blank between words (uint32)."""
        return self._rows[self._blank]

    def others(self) -> tuple[Array, Array]:
        """Return the positions of the other runs: those of one byte, and longer ones."""
        lengths = self.other_ends - self.other_begins
        return (lengths == 1).nonzero()[0], (lengths > 1).nonzero()[0]


def _changes(inside: Array) -> Array:
    """Return the begins and ends of runs in turns; the first byte is outside of any run."""
    changes: Array = (inside[1:] != inside[:-1]).nonzero()[0]
    return changes


@lru_cache(maxsize=2)
def _ends(count: int) -> pa.StringArray:
    """Return the end of each of ``count`` texts; the last one is followed by the padding."""
    import pyarrow as pa  # noqa: PLC0415 - 0.2 s, and a server needs it for nothing

    return pa.array([_END] * (count - 1) + [_END * (1 + PADDING)])

"""Find the tokens of an index by their texts: words by what they hold or begin with, others whole, pieces by both."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

import numpy as np

from engine.read.files.search_arrays import PIECE

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class Vocabulary:
    """The tokens of one field: words, the most frequent first, then the others by their bytes, then pieces of words."""

    def __init__(self, array: Callable[[str], Array]) -> None:
        """``array`` returns one of the field's arrays (``search_arrays``) by its name."""
        self._words, self._word_at, self._ordered = array("words"), array("word_at"), array("ordered")
        self._others, self._other_at = array("others"), array("other_at")
        self.counts: Final = array("counts")
        """The number of rows that hold each token."""
        self.words: Final = len(self._ordered)
        """The number of tokens that are words; these come first."""

    def count(self, token: int) -> int:
        """Return how many rows hold a token."""
        return int(self.counts[token])

    def word(self, text: bytes) -> int | None:
        """Return the number of a word."""
        at = bisect_left(self._ordered, text, key=self._word_text)
        if at < len(self._ordered) and self._word_text(self._ordered[at]) == text:
            return int(self._ordered[at])
        return None

    def other(self, text: bytes) -> int | None:
        """Return the number of a token that is no word."""
        at = self._first_other(text)
        return self.words + at if at < len(self._other_at) - 1 and self._other_text(at) == text else None

    def pieces(self, text: bytes) -> Array:
        """Return the pieces of words that hold ``text``, one or two characters that words can hold: the rows that have
        any of these are those of all such words."""
        first, last = self._first_other(PIECE + text), self._first_other(PIECE + text + b"\xff")
        return np.arange(self.words + first, self.words + last)

    def _first_other(self, text: bytes) -> int:
        return bisect_left(range(len(self._other_at) - 1), text, key=self._other_text)

    def _word_text(self, number: int) -> bytes:
        return self._words[self._word_at[number] : self._word_at[number + 1] - 1].tobytes()

    def _other_text(self, number: int) -> bytes:
        return self._others[self._other_at[number] : self._other_at[number + 1]].tobytes()

    def beginning(self, text: bytes) -> Array:
        """Return the words that begin with ``text``, ascending."""
        first = bisect_left(self._ordered, text, key=self._word_text)
        last = bisect_left(self._ordered, text + b"\xff", key=self._word_text)
        return np.sort(self._ordered[first:last]).astype(np.int64)

    def holding(self, text: bytes, first: int, last: int) -> Array:
        """Return those of the words from ``first`` to ``last`` that hold ``text``; a line feed stands before and after
        each."""
        begin, end = int(self._word_at[first]) - 1, int(self._word_at[last])
        blob = self._words[begin:end]
        if len(text) <= 2:
            found = np.flatnonzero(blob == text[0])
            if len(text) == 2:
                found = found[:-1] if len(found) and found[-1] == len(blob) - 1 else found
                found = found[blob[found + 1] == text[1]]
        else:
            found = np.array(list(_places(blob.tobytes(), text)), np.int64)
        words = np.searchsorted(self._word_at, found + begin, side="right") - 1
        return words[np.concatenate([[True], words[1:] != words[:-1]])] if len(words) else words


def _places(blob: bytes, text: bytes) -> Iterator[int]:
    """Yield where a text stands: without an expression, which is not compiled in the time in which this is done."""
    at = blob.find(text)
    while at >= 0:
        yield at
        at = blob.find(text, at + 1)

"""The rows and texts of one field in all parts of an API in one language, read from all parts at the same time.

Of a token, each part has its rows, as numbers, or as one bit a row (``files.search_arrays``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
from numpy.lib.stride_tricks import as_strided

from engine.read.files.array_file import ArrayFile
from engine.read.files.search_arrays import bits_width, search_array
from engine.read.search.row_bits import Bits, RowBits, mark_places
from engine.read.search.spanning import WORD, Spanning
from snapshots.search.runs import ragged

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_TEXTS_AT_A_TIME: Final = 4_096
_WORDS_AT_A_TIME: Final = 1 << 17
"""Words of lines that are joined at the same time, which takes memory for all of them."""


class DamagedIndex(Exception):
    """The index names rows that a part does not have."""


class Pairs(msgspec.Struct, frozen=True):
    """Tokens and the parts that have them, each token with all of its parts after the other."""

    tokens: Array
    """Which of the tokens looked for, from 0 on, ascending."""
    parts: Array
    """The number of the part among those that have rows in the language."""
    at: Array
    """Where the part has the rows: from which of its numbers of rows on; or, less than 0, ``~`` the line of bits."""
    counts: Array
    """How many rows of the part hold the token."""


class Postings:
    """The rows and texts of one field in all parts that have rows in a language."""

    def __init__(self, parts: Sequence[ArrayFile], places: RowBits, lang: str, field_id: str) -> None:
        """Raises ``KeyError`` where a part has none of the field."""

        def arrays(name: str) -> list[Array]:
            return [part.array(search_array(lang, field_id, name)) for part in parts]

        def items(of: Sequence[Array]) -> Array:
            return np.array([memory.position(array) for array in of], np.int64)

        self._places = places
        self._finds = [part.map.find for part in parts]
        texts = [part.stored[search_array(lang, field_id, "texts")] for part in parts]
        self._texts_begin = np.array([begin for _, begin, _ in texts], np.int64)
        self.size: Final = sum(size for _, _, size in texts)
        """Bytes of all texts."""
        rows, bounds, nothing = arrays("rows"), arrays("text_at"), np.zeros(places.words, np.uint64)
        bits = [_padded(part, line, places) for part, line in zip(parts, arrays("bits"), strict=True)]
        whole = [np.frombuffer(part.map, np.uint8) for part in parts]
        memory = Spanning([*whole, *bits, nothing])
        self._numbers = memory.items.view(np.uint32)
        self._numbers_at, self._bounds_at, self._lines_at = items(rows) * 2, items(bounds), items(bits)
        self._numbers_end = np.array([len(array) for array in rows], np.int64)
        self._lines_end = np.array([array.nbytes for array in bits], np.int64) // WORD
        self._bounds = memory.items.view(np.int64)
        self._line_words = np.array([bits_width(len(array) - 1) // WORD for array in bounds], np.int64)
        self._lines_end //= self._line_words
        # A line of the longest part's length from each item on: what is read beyond a shorter line is of spare places.
        lines = (max(0, len(memory.items) - places.words + 1), places.words)
        self._lines = as_strided(memory.items, lines, (WORD, WORD), writeable=False)
        self._nothing = memory.position(nothing)

    def mark(self, marked: Bits, pairs: Pairs) -> None:
        """Mark the rows of these pairs; spare places are marked, or may be. Raises ``DamagedIndex``."""
        is_line = pairs.at < 0
        lines = is_line.nonzero()[0]
        if len(lines) == len(is_line):
            self._mark_lines(marked, pairs.tokens, pairs.parts, ~pairs.at)
            return
        if len(lines):
            self._mark_lines(marked, pairs.tokens[lines], pairs.parts[lines], ~pairs.at[lines])
        rest = (~is_line).nonzero()[0]
        self._mark_numbers(marked, pairs.parts[rest], pairs.at[rest], pairs.counts[rest])

    def _mark_lines(self, marked: Bits, tokens: Array, parts: Array, lines: Array) -> None:
        _check(lines, 1, self._lines_end[parts])
        number = np.concatenate([[0], np.cumsum(tokens[1:] != tokens[:-1])])
        starts = np.full((int(number[-1]) + 1, self._places.parts), self._nothing)
        starts[number, parts] = self._lines_at[parts] + lines * self._line_words[parts]
        at_once = max(1, _WORDS_AT_A_TIME // len(marked))
        for at in range(0, len(starts), at_once):
            some = self._lines[starts[at : at + at_once].ravel()].reshape(-1, len(marked))
            marked |= some[0] if len(some) == 1 else np.bitwise_or.reduce(some, axis=0)

    def _mark_numbers(self, marked: Bits, parts: Array, at: Array, counts: Array) -> None:
        _check(at, counts, self._numbers_end[parts])
        rows = self._numbers[ragged(self._numbers_at[parts] + at, counts)]
        mark_places(marked, rows + np.repeat(parts * self._places.stride, counts))

    def with_text(self, places: Array, text: bytes, check: Callable[[], None]) -> Array:
        """Return those of the places, which are those of rows, whose text holds ``text``. Raises what ``check``
        raises."""
        finds, held = self._finds, []
        for first in range(0, len(places), _TEXTS_AT_A_TIME):
            check()
            some = places[first : first + _TEXTS_AT_A_TIME]
            parts = some // self._places.stride
            bounds = self._bounds_at[parts] + some - parts * self._places.stride
            begin = self._texts_begin[parts]
            spans = zip(
                some.tolist(),
                parts.tolist(),
                (self._bounds[bounds] + begin).tolist(),
                (self._bounds[bounds + 1] + begin).tolist(),
                strict=True,
            )
            held += [place for place, part, start, end in spans if finds[part](text, start, end) >= 0]
        return np.array(held, dtype=np.int64)


def _check(at: Array, counts: Array | int, ends: Array) -> None:
    """Raise ``DamagedIndex`` where one of the ranges is not within its array: nothing else keeps from reading there."""
    if (at + counts > ends).any():
        raise DamagedIndex


def _padded(part: ArrayFile, bits: Array, places: RowBits) -> Array:
    """The lines of a part, after whose last so many bytes can be read that it is as long as the longest of all; they
    are copied where the file ends too soon."""
    longest, end = places.words * WORD, bits.ctypes.data + bits.nbytes
    if end + longest <= np.frombuffer(part.map, np.uint8).ctypes.data + len(part.map):
        return bits
    return np.concatenate([bits, np.zeros(longest, np.uint8)])

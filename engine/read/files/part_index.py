"""The rows and texts of one field in one part and language, found by the numbers of its tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from engine.read.files.array_file import ArrayFile
from engine.read.files.search_arrays import bits_width, search_array
from snapshots.search.runs import ragged

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_TEXTS_AT_A_TIME: Final = 4_096
_FEW_WORDS: Final = 4
"""Words that are marked one by one in less time than together."""
_LINES_AT_A_TIME: Final = 256
"""Words kept as bits that are joined at the same time, which takes memory for all of them."""


class PartIndex:
    """The index of one field of a part in one language."""

    def __init__(self, file: ArrayFile, lang: str, field_id: str) -> None:
        """Raises ``KeyError`` where the file has none of it."""
        self._file, self._about, self._map = file, (lang, field_id), file.map
        array = self.array
        self._counts, self._row_at, self._bits_at = array("counts"), array("row_at"), array("bits_at")
        self._rows, self._text_at = array("rows"), array("text_at")
        self.rows: Final = len(self._text_at) - 1
        """The number of rows of the data file."""
        self._bits = array("bits").reshape(-1, bits_width(self.rows))
        self._lines = self._bits.view(np.uint64)
        _, self._texts_begin, self.size = file.stored[search_array(lang, field_id, "texts")]

    def array(self, name: str) -> Array:
        """Return one of the arrays of ``search_arrays``. Raises ``KeyError``."""
        return self._file.array(search_array(*self._about, name))

    def rows_of(self, token: int) -> Array:
        """Return the rows that hold a token, ascending."""
        line = self._bits_at[token]
        if line >= 0:
            return np.flatnonzero(self._unpacked(self._bits[line]))
        return self._rows[self._row_at[token] : self._row_at[token + 1]]

    def _unpacked(self, bits: Array) -> Array:
        return np.unpackbits(bits, count=self.rows, bitorder="little").view(np.bool_)

    def among(self, rows: Array, token: int) -> Array:
        """Return the members of ``rows``, which ascend, that hold a token."""
        line = self._bits_at[token]
        if line >= 0:
            bits = self._bits[line]
            marked: Array = rows[(bits[rows >> 3] >> (rows & 7).astype(np.uint8)) & 1 == 1]
            return marked
        held = self._rows[self._row_at[token] : self._row_at[token + 1]]
        at = np.searchsorted(held, rows)
        at[at == len(held)] = 0
        among: Array = rows[held[at] == rows] if len(held) else rows[:0]
        return among

    def mark(self, mask: Array, tokens: Array) -> None:
        """Mark the rows that hold any of these tokens."""
        if len(tokens) <= _FEW_WORDS:
            for token in tokens.tolist():
                line = self._bits_at[token]
                if line >= 0:
                    mask |= self._unpacked(self._bits[line])
                else:
                    mask[self._rows[self._row_at[token] : self._row_at[token + 1]]] = True
            return
        lines = self._bits_at[tokens]
        is_dense = lines >= 0
        dense = lines[is_dense]
        for at in range(0, len(dense), _LINES_AT_A_TIME):
            some = self._lines.take(dense[at : at + _LINES_AT_A_TIME], axis=0)
            mask |= self._unpacked(np.bitwise_or.reduce(some, axis=0).view(np.uint8))
        if len(dense) < len(tokens):
            sparse = tokens[~is_dense] if len(dense) else tokens
            mask[self._rows[ragged(self._row_at[sparse], self._counts[sparse].astype(np.int64))]] = True

    def with_text(self, rows: Array, text: bytes, check: Callable[[], None]) -> Array:
        """Return the members of ``rows`` whose text holds ``text``. Raises what ``check`` raises."""
        find, begin = self._map.find, self._texts_begin
        held = []
        for at in range(0, len(rows), _TEXTS_AT_A_TIME):
            check()
            some = rows[at : at + _TEXTS_AT_A_TIME]
            spans = zip(
                some.tolist(),
                (self._text_at[some] + begin).tolist(),
                (self._text_at[some + 1] + begin).tolist(),
                strict=True,
            )
            held += [row for row, first, end in spans if find(text, first, end) >= 0]
        return np.array(held, dtype=np.int64)

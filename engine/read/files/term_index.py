"""Find the rows whose text holds a search term, exactly, by the index (design section 4, point 6).

A term within one word is found by the words that hold it, whose rows are known. Other terms narrow the rows down by
their words and characters, and the texts of what is left decide. Where nearly every row holds a term, the few that are
left over have their texts searched, in place of all the words that are left.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from engine.read.files.array_file import ArrayFile
from engine.read.files.search_arrays import bits_width, search_array
from snapshots.search.runs import ragged, word_runs

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_MARKED_MEANWHILE: Final = 400
"""Rows of a word that are marked in the time in which one text is searched."""
_DENSE_ROWS: Final = 256
"""Bits that are joined in the time in which one row is marked."""
_FEW: Final = 2_000
"""Texts that are searched in less time than further words are marked in."""
_HEAD: Final = 65_536
"""Words, the most frequent ones, that are searched before the rest."""
_SHORT: Final = 512
"""Words of fewer rows are marked together."""
_TEXTS_AT_A_TIME: Final = 4_096


class TermIndex:
    """The index of one field of an API in one language."""

    def __init__(self, file: ArrayFile, lang: str, field_id: str) -> None:
        """Raises ``KeyError`` where the file has none of it."""

        def array(name: str) -> Array:
            kind, first, count = file.stored[search_array(lang, field_id, name)]
            return np.frombuffer(file.map, kind, count, first)

        self._map = file.map
        self._words, self._word_at, self._ordered = array("words"), array("word_at"), array("ordered")
        self._others, self._other_at = array("others"), array("other_at")
        self._counts, self._row_at, self._bits_at = array("counts"), array("row_at"), array("bits_at")
        self._rows, self._text_at = array("rows"), array("text_at")
        self.rows: Final = len(self._text_at) - 1
        """The number of rows of the data file."""
        self.words: Final = len(self._ordered)
        """The number of tokens that are words; these come first."""
        self._bits = array("bits").reshape(-1, bits_width(self.rows))
        _, self._texts_begin, self.size = file.stored[search_array(lang, field_id, "texts")]

    def mark_matching(self, term: str, mask: Array, check: Callable[[], None]) -> None:
        """Mark the rows whose text holds ``term``, which is not empty and in the form texts are compared in.

        What ``mask`` has marked stays so, and is not looked up. Raises what ``check`` raises, called now and then.
        """
        search = _Search(self, term, mask, check)
        runs = word_runs(term)
        if runs == [(0, len(term))]:
            search.within_words()
        elif not runs and len(term) <= 2:
            token = self.other(term.encode())
            if token is not None:
                mask[self.rows_of(token)] = True
        else:
            search.by_candidates(runs)

    def rows_of(self, token: int) -> Array:
        """The rows that hold a token, ascending."""
        if self._bits_at[token] >= 0:
            return np.flatnonzero(self._unpacked(self._bits[self._bits_at[token]]))
        return self._rows[self._row_at[token] : self._row_at[token + 1]]

    def _unpacked(self, bits: Array) -> Array:
        unpacked: Array = np.unpackbits(bits, count=self.rows, bitorder="little")
        marks: Array = unpacked.astype(np.bool_)
        return marks

    def among(self, rows: Array, token: int) -> Array:
        """The members of ``rows``, which ascend, that hold a token."""
        if self._bits_at[token] >= 0:
            bits = self._bits[self._bits_at[token]]
            marked: Array = rows[(bits[rows >> 3] >> (rows & 7).astype(np.uint8)) & 1 == 1]
            return marked
        held = self._rows[self._row_at[token] : self._row_at[token + 1]]
        at = np.searchsorted(held, rows)
        at[at == len(held)] = 0
        among: Array = rows[held[at] == rows] if len(held) else rows[:0]
        return among

    def count(self, token: int) -> int:
        return int(self._counts[token])

    def word(self, text: bytes) -> int | None:
        """The number of a word."""
        at = bisect_left(self._ordered, text, key=self._word_text)
        if at < len(self._ordered) and self._word_text(self._ordered[at]) == text:
            return int(self._ordered[at])
        return None

    def other(self, text: bytes) -> int | None:
        """The number of a token that is no word."""
        count = len(self._other_at) - 1
        at = bisect_left(range(count), text, key=self._other_text)
        return self.words + at if at < count and self._other_text(at) == text else None

    def _word_text(self, number: int) -> bytes:
        return self._words[self._word_at[number] : self._word_at[number + 1] - 1].tobytes()

    def _other_text(self, number: int) -> bytes:
        return self._others[self._other_at[number] : self._other_at[number + 1]].tobytes()

    def beginning(self, text: bytes) -> Array:
        """The words that begin with ``text``, ascending."""
        first = bisect_left(self._ordered, text, key=self._word_text)
        last = bisect_left(self._ordered, text + b"\xff", key=self._word_text)
        return np.sort(self._ordered[first:last]).astype(np.int64)

    def holding(self, text: bytes, first: int, last: int) -> Array:
        """Which of the words from ``first`` to ``last`` hold ``text``; a line feed stands before and after each."""
        begin, end = int(self._word_at[first]) - 1, int(self._word_at[last])
        blob = self._words[begin:end]
        if len(text) <= 2:
            found = np.flatnonzero(blob == text[0])
            if len(text) == 2:
                found = found[:-1] if len(found) and found[-1] == len(blob) - 1 else found
                found = found[blob[found + 1] == text[1]]
        else:
            found = np.fromiter((match.start() for match in re.finditer(re.escape(text), blob.data)), np.int64)
        words = np.searchsorted(self._word_at, found + begin, side="right") - 1
        return words[np.concatenate([[True], words[1:] != words[:-1]])] if len(words) else words

    def mark(self, mask: Array, words: Array, spare: int) -> bool:
        """Mark the rows that hold any of ``words``, which ascend; the most frequent come first.

        Returns False, leaving off, once so few rows have no mark that searching their texts costs less than marking
        the rest would, ``spare`` included.
        """
        is_dense = self._bits_at[words] >= 0
        dense = words[is_dense]
        per_dense = self.rows // _DENSE_ROWS + 1
        rest = int(self._counts[words[~is_dense]].sum()) + len(dense) * per_dense + spare
        if self._sparing(self._unmarked(mask), rest):
            return False
        if len(dense):
            union = np.zeros(self._bits.shape[1], np.uint8).view(np.uint64)
            for number, word in enumerate(dense.tolist(), 1):
                np.bitwise_or(union, self._bits[self._bits_at[word]].view(np.uint64), out=union)
                rest -= per_dense
                if number % 16 == 0 and self._sparing(self.rows - int(np.bitwise_count(union).sum()), rest):
                    mask |= self._unpacked(union.view(np.uint8))
                    return False
            mask |= self._unpacked(union.view(np.uint8))
        sparse = words[~is_dense]
        marked = 0
        for at, word in enumerate(sparse.tolist()):
            if self._counts[word] < _SHORT:
                short = sparse[at:]
                if self._sparing(self._unmarked(mask), rest):
                    return False
                mask[self._rows[ragged(self._row_at[short], self._counts[short].astype(np.int64))]] = True
                break
            if marked > self.rows:
                if self._sparing(self._unmarked(mask), rest):
                    return False
                marked = 0
            mask[self._rows[self._row_at[word] : self._row_at[word + 1]]] = True
            rest -= int(self._counts[word])
            marked += int(self._counts[word])
        return not self._sparing(self._unmarked(mask), spare)

    def _sparing(self, unmarked: int, rest: int) -> bool:
        """Whether searching texts costs less than marking, which finds rows sooner while many are unmarked."""
        return unmarked * _MARKED_MEANWHILE < min(rest, self.rows)

    def _unmarked(self, mask: Array) -> int:
        return self.rows - int(np.count_nonzero(mask))

    def with_text(self, rows: Array, text: bytes, check: Callable[[], None]) -> Array:
        """The members of ``rows`` whose text holds ``text``. Raises what ``check`` raises."""
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


class _Search:
    """One term, looked up in one index."""

    def __init__(self, index: TermIndex, term: str, mask: Array, check: Callable[[], None]) -> None:
        self._index = index
        self._term = term
        self._text = term.encode()
        self._mask = mask
        self._check = check

    def within_words(self) -> None:
        """Mark the rows of a term that lies within one word wherever it stands."""
        index, mask = self._index, self._mask
        head = min(_HEAD, index.words)
        tail = index.words - head
        if index.mark(mask, index.holding(self._text, 0, head), tail * 4) and (
            not tail or index.mark(mask, index.holding(self._text, head, index.words), 0)
        ):
            return
        mask[index.with_text(np.flatnonzero(~mask), self._text, self._check)] = True

    def by_candidates(self, runs: list[tuple[int, int]]) -> None:
        """Mark the rows of a term that is neither one word nor part of one."""
        index, mask = self._index, self._mask
        tokens = self._tokens(runs)
        if None in tokens:
            return
        rows: Array | None = None
        for token in sorted({token for token in tokens if token is not None}, key=index.count):
            if index.count(token) == index.rows:
                break
            if rows is None:
                rows = index.rows_of(token).astype(np.int64)
            elif len(rows) > _FEW:
                rows = index.among(rows, token)
        rows = self._narrowed(runs, rows)
        rows = np.flatnonzero(~mask) if rows is None else rows[~mask[rows]]
        mask[index.with_text(rows, self._text, self._check)] = True

    def _tokens(self, runs: list[tuple[int, int]]) -> list[int | None]:
        """The tokens that every row with the term holds, ``None`` for one that no row holds."""
        index, term = self._index, self._term
        found = [index.word(term[a:b].encode()) for a, b in runs if a > 0 and b < len(term)]
        edges = [0, *(at for run in runs for at in run), len(term)]
        for a, b in zip(edges[::2], edges[1::2], strict=True):
            between = term[a:b]
            grams = [between] if len(between) == 1 else [between[n : n + 2] for n in range(len(between) - 1)]
            found += [index.other(gram.encode()) for gram in grams]
        return found

    def _narrowed(self, runs: list[tuple[int, int]], rows: Array | None) -> Array | None:
        """The members of ``rows`` (``None``: all) with words that end as the term begins, and begin as it ends."""
        index = self._index
        for a, b in runs:
            if (rows is not None and len(rows) <= _FEW) or (a > 0 and b < len(self._term)):
                continue
            part = self._term[a:b].encode()
            words = index.beginning(part) if a > 0 else index.holding(part + b"\n", 0, index.words)
            mask = np.zeros(index.rows, dtype=bool)
            if index.mark(mask, words, 0):
                rows = np.flatnonzero(mask) if rows is None else rows[mask[rows]]
        return rows

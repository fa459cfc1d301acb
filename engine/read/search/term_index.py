"""Find the rows whose text holds a search term, exactly, by the indexes of all parts (design section 4, point 6).

A term within one word is found by the words that hold it, whose rows are known. Other terms narrow the rows down by
their words and characters, and the texts of what is left decide. Where nearly every row holds a term, the few that are
left over have their texts searched, in place of all the words that are left.

Words are looked up once for all parts, in a vocabulary that leads on to the tokens of each part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Final, TypeAlias

import numpy as np

from engine.read.files.array_file import ArrayFile
from engine.read.files.part_index import PartIndex
from engine.read.files.search_arrays import PAIR_AT, PAIR_PARTS, PAIR_TOKENS, search_array
from engine.read.search.vocabulary import Vocabulary
from snapshots.search.runs import ragged, word_runs

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_MARKED_MEANWHILE: Final = 400
"""Rows of a word that are marked in the time in which one text is searched."""
_DENSE_ROWS: Final = 256
"""Bits that are joined in the time in which one row is marked."""
_DENSE: Final = 32
"""A word in a larger share of the rows than 1 / ``_DENSE`` is taken to be kept as bits."""
_FEW: Final = 2_000
"""Texts that are searched in less time than further words are marked in."""
_HEAD: Final = 65_536
"""Words, the most frequent ones, that are searched before the rest."""
_FIRST_WORDS: Final = 32
"""Words after which it is first seen whether marking may be left off; then after so many more, or half as many again as
there were."""


class TermIndex:
    """The index of one field of an API in one language. Its rows are those of its parts, part by part."""

    def __init__(self, parts: Sequence[PartIndex | None], joined: ArrayFile | None, lang: str, field_id: str) -> None:
        """``parts`` are those of the API, ``None`` where one has no rows in the language; ``joined`` is the file with
        the vocabulary of all, ``None`` where only one has rows. Raises ``KeyError`` where that file has none of it."""
        self._parts: Final = parts
        self._firsts: Final = [0, *accumulate(0 if part is None else part.rows for part in parts)]
        self.rows: Final = self._firsts[-1]
        self.size: Final = sum(part.size for part in parts if part is not None)
        """Bytes of all texts."""
        there = [number for number, part in enumerate(parts) if part is not None]
        self._only: Final = there[0] if joined is None else None
        """The number of the part whose own tokens the vocabulary has, where it is that of one part."""
        self.vocabulary: Final = _vocabulary(parts[there[0]], joined, lang, field_id)
        if joined is not None:
            pairs = (PAIR_AT, PAIR_PARTS, PAIR_TOKENS)
            self._pair_at, self._pair_parts, self._pair_tokens = (
                joined.array(search_array(lang, field_id, name)) for name in pairs
            )

    def mark_matching(self, term: str, mask: Array, check: Callable[[], None]) -> None:
        """Mark the rows whose text holds ``term``, which is not empty and in the form texts are compared in.

        What ``mask`` has marked stays so, and is not looked up. Raises what ``check`` raises, called now and then.
        """
        search = _Search(self, term, mask, check)
        runs = word_runs(term)
        if runs == [(0, len(term))]:
            search.within_words()
        elif not runs and len(term) <= 2:
            token = self.vocabulary.other(term.encode())
            if token is not None:
                self._mark(mask, np.array([token]))
        else:
            search.by_candidates(runs)

    def _in_parts(self, tokens: Array) -> Iterator[tuple[PartIndex, int, Array]]:
        """Yield the parts that have any of these tokens: with each its first row, and the numbers that they have
        there."""
        if self._only is not None:
            numbers, inside = np.full(len(tokens), self._only), tokens
        else:
            counts = self._pair_at[tokens + 1] - self._pair_at[tokens]
            pairs = ragged(self._pair_at[tokens], counts)
            numbers, inside = self._pair_parts[pairs], self._pair_tokens[pairs].astype(np.intp)
        if len(tokens) > 1:  # those of one are in the order of the parts
            order = np.argsort(numbers, kind="stable")
            numbers, inside = numbers[order], inside[order]
        starts = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]])) if len(numbers) else numbers
        ends = [*starts[1:].tolist(), len(numbers)]
        for number, start, end in zip(numbers[starts].tolist(), starts.tolist(), ends, strict=False):
            part = self._parts[number]
            if part is not None:
                yield part, self._firsts[number], inside[start:end]

    def rows_of(self, token: int) -> Array:
        """Return the rows that hold a token, ascending."""
        found = [
            part.rows_of(int(inside[0])).astype(np.int64) + first
            for part, first, inside in self._in_parts(np.array([token]))
        ]
        return np.concatenate(found)

    def among(self, rows: Array, token: int) -> Array:
        """Return the members of ``rows``, which ascend, that hold a token."""
        found = [rows[:0]]
        for part, first, inside in self._in_parts(np.array([token])):
            at, end = np.searchsorted(rows, (first, first + part.rows)).tolist()
            if at < end:
                found.append(part.among(rows[at:end] - first, int(inside[0])) + first)
        return np.concatenate(found)

    def mark(self, mask: Array, words: Array, spare: int) -> bool:
        """Mark the rows that hold any of ``words``, which ascend; the most frequent come first.

        Returns False, leaving off, once so few rows have no mark that searching their texts costs less than marking
        the rest would, ``spare`` included.
        """
        counts = self.vocabulary.counts[words].astype(np.int64)
        costs = np.where(counts * _DENSE > self.rows, self.rows // _DENSE_ROWS + 1, counts)
        rest, at, size = int(costs.sum()) + spare, 0, _FIRST_WORDS
        while at < len(words):
            if self._is_sparing(mask, rest):
                return False
            some = slice(at, at + size)
            self._mark(mask, words[some])
            rest -= int(costs[some].sum())
            at += size
            size = max(_FIRST_WORDS, at // 2)
        return not self._is_sparing(mask, spare)

    def _mark(self, mask: Array, tokens: Array) -> None:
        for part, first, inside in self._in_parts(tokens):
            part.mark(mask[first : first + part.rows], inside)

    def _is_sparing(self, mask: Array, rest: int) -> bool:
        """Whether searching texts costs less than marking, which finds rows sooner while many are unmarked."""
        unmarked = self.rows - int(np.count_nonzero(mask))
        return unmarked * _MARKED_MEANWHILE < min(rest, self.rows)

    def with_text(self, rows: Array, text: bytes, check: Callable[[], None]) -> Array:
        """Return the members of ``rows``, which ascend, whose text holds ``text``. Raises what ``check`` raises."""
        ends = np.searchsorted(rows, self._firsts).tolist()
        found = [rows[:0]]
        for part, first, at, end in zip(self._parts, self._firsts, ends, ends[1:], strict=False):
            if part is not None and at < end:
                found.append(part.with_text(rows[at:end] - first, text, check) + first)
        return np.concatenate(found)


def _vocabulary(part: PartIndex | None, joined: ArrayFile | None, lang: str, field_id: str) -> Vocabulary:
    if joined is not None:
        return Vocabulary(lambda name: joined.array(search_array(lang, field_id, name)))
    assert part is not None  # noqa: S101 - for mypy
    return Vocabulary(part.array)


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
        index, words, mask = self._index, self._index.vocabulary, self._mask
        head = min(_HEAD, words.words)
        tail = words.words - head
        if index.mark(mask, words.holding(self._text, 0, head), tail * 4) and (
            not tail or index.mark(mask, words.holding(self._text, head, words.words), 0)
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
        for token in sorted({token for token in tokens if token is not None}, key=self._index.vocabulary.count):
            if self._index.vocabulary.count(token) == index.rows:
                break
            if rows is None:
                rows = index.rows_of(token)
            elif len(rows) > _FEW:
                rows = index.among(rows, token)
        rows = self._narrowed(runs, rows)
        rows = np.flatnonzero(~mask) if rows is None else rows[~mask[rows]]
        mask[index.with_text(rows, self._text, self._check)] = True

    def _tokens(self, runs: list[tuple[int, int]]) -> list[int | None]:
        """The tokens that every row with the term holds, ``None`` for one that no row holds."""
        words, term = self._index.vocabulary, self._term
        found = [words.word(term[a:b].encode()) for a, b in runs if a > 0 and b < len(term)]
        edges = [0, *(at for run in runs for at in run), len(term)]
        for a, b in zip(edges[::2], edges[1::2], strict=True):
            between = term[a:b]
            grams = [between] if len(between) == 1 else [between[n : n + 2] for n in range(len(between) - 1)]
            found += [words.other(gram.encode()) for gram in grams]
        return found

    def _narrowed(self, runs: list[tuple[int, int]], rows: Array | None) -> Array | None:
        """The members of ``rows`` (``None``: all) with words that end as the term begins, and begin as it ends."""
        index, vocabulary = self._index, self._index.vocabulary
        for a, b in runs:
            if (rows is not None and len(rows) <= _FEW) or (a > 0 and b < len(self._term)):
                continue
            part = self._term[a:b].encode()
            words = vocabulary.beginning(part) if a > 0 else vocabulary.holding(part + b"\n", 0, vocabulary.words)
            mask = np.zeros(index.rows, dtype=bool)
            if index.mark(mask, words, 0):
                rows = np.flatnonzero(mask) if rows is None else rows[mask[rows]]
        return rows

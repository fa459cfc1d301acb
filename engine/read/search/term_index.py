"""Find the rows whose text holds a search term, exactly, by the indexes of all parts (design section 4, point 6).

A term within one word is found by the words that hold it, whose rows are known, or, where it is no longer than the
pieces of words, by these. Other terms narrow the rows down by their words and characters, and the texts of what is left
decide. Where nearly every row holds a term, the few that are left over have their texts searched, in place of all the
words that are left.

Words are looked up once for all parts, in a vocabulary that leads on to the rows of each part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np

from engine.read.files.array_file import ArrayFile
from engine.read.files.search_arrays import PAIR_AT, PAIR_COUNTS, PAIR_PARTS, PAIR_ROWS, search_array
from engine.read.search.postings import Pairs, Postings
from engine.read.search.row_bits import Bits, RowBits, mark_places, marked_in, places_in, unmarked_in
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
_SHORT: Final = 2
"""Characters of a term, in a word or between words, of which the rows are known."""
_HEAD: Final = 65_536
"""Words, the most frequent ones, that are searched before the rest."""
_AT_ONCE: Final = 4
"""A share of the rows: when as many as 1 / ``_AT_ONCE`` were marked, it is seen whether marking may be left off."""


class TermIndex:
    """The index of one field of an API in one language."""

    def __init__(
        self, parts: Mapping[int, ArrayFile], joined: ArrayFile | None, places: RowBits, lang: str, field_id: str
    ) -> None:
        """``parts`` are the search files of those parts that have rows in the language, by their numbers, and
        ``places`` those of the rows; ``joined`` is the file with the vocabulary of all, ``None`` where there is one
        part. Raises ``KeyError`` where a file has none of the field."""
        files = list(parts.values())

        def array(name: str) -> Array:
            return (joined or files[0]).array(search_array(lang, field_id, name))

        self.places: Final = places
        self.vocabulary: Final = Vocabulary(array)
        self._postings: Final = Postings(files, places, lang, field_id)
        self.size: Final = self._postings.size
        """Bytes of all texts."""
        self._is_joined = joined is not None
        if joined is not None:
            names = (PAIR_AT, PAIR_PARTS, PAIR_ROWS, PAIR_COUNTS)
            self._pair_at, self._pair_parts, self._pair_rows, self._pair_counts = map(array, names)
            self._there = np.full(max(parts) + 1, -1)
            self._there[list(parts)] = np.arange(len(parts))
        else:
            self._row_at, self._bits_at = array("row_at"), array("bits_at")

    def mark_matching(self, term: str, marked: Bits, check: Callable[[], None]) -> None:
        """Mark the rows whose text holds ``term``, which is not empty and in the form texts are compared in.

        What is marked stays so, as are all spare places, and is not looked up. Raises what ``check`` raises, called now
        and then.
        """
        search = _Search(self, term, marked, check)
        runs = word_runs(term)
        is_of_word = runs == [(0, len(term))]
        if len(term) <= _SHORT and (is_of_word or not runs):
            search.by_tokens(self._short_tokens(term.encode(), is_of_word=is_of_word))
        elif is_of_word:
            search.within_words()
        else:
            search.by_candidates(runs)

    def _short_tokens(self, text: bytes, *, is_of_word: bool) -> Array:
        if is_of_word:
            return self.vocabulary.pieces(text)
        token = self.vocabulary.other(text)
        return np.array([] if token is None else [token], np.int64)

    def _pairs(self, tokens: Array) -> Pairs:
        """Return the parts that have these tokens, and where they have their rows."""
        if not self._is_joined:
            lines, number = self._bits_at[tokens], np.arange(len(tokens))
            at = np.where(lines >= 0, ~lines, self._row_at[tokens])
            return Pairs(number, np.zeros_like(number), at, self.vocabulary.counts[tokens].astype(np.int64))
        begins = self._pair_at[tokens]
        counts = self._pair_at[tokens + 1] - begins
        pairs = ragged(begins, counts) if len(tokens) > 1 else slice(begins[0], begins[0] + counts[0])
        return Pairs(
            np.repeat(np.arange(len(tokens)), counts),
            self._there[self._pair_parts[pairs]],
            self._pair_rows[pairs].astype(np.int64),
            self._pair_counts[pairs].astype(np.int64),
        )

    def holding(self, token: int) -> Bits:
        """Return the rows that hold a token, and perhaps spare places."""
        marked = np.zeros(self.places.parts * self.places.words, np.uint64)
        self._postings.mark(marked, self._pairs(np.array([token])))
        return marked

    def mark(self, marked: Bits, tokens: Array, spare: int) -> bool:
        """Mark the rows that hold any of ``tokens``, which ascend; of words, the most frequent come first.

        Returns False, leaving off, once so few rows have no mark that searching their texts costs less than marking
        the rest would, ``spare`` included.
        """
        rows = self.places.rows
        counts = self.vocabulary.counts[tokens].astype(np.int64)
        costs = np.where(counts * _DENSE > rows, rows // _DENSE_ROWS + 1, counts)
        spent = np.cumsum(costs)
        at, done, all_of_it = 0, 0, int(costs.sum()) + spare
        while at < len(tokens):
            if self._is_sparing(marked, all_of_it - done):
                return False
            end = max(at + 1, int(np.searchsorted(spent, done + rows // _AT_ONCE)))
            self._postings.mark(marked, self._pairs(tokens[at:end]))
            at, done = end, int(spent[end - 1])
        return not self._is_sparing(marked, spare)

    def _is_sparing(self, marked: Bits, rest: int) -> bool:
        """Whether searching texts costs less than marking, which finds rows sooner while many are unmarked."""
        most = min(rest, self.places.rows)
        return most > _MARKED_MEANWHILE and unmarked_in(marked) * _MARKED_MEANWHILE < most

    def with_text(self, rows: Bits, text: bytes, check: Callable[[], None]) -> Array:
        """Return the places of those of the rows whose text holds ``text``. Raises what ``check`` raises."""
        return self._postings.with_text(places_in(rows), text, check)


class _Search:
    """One term, looked up in one index."""

    def __init__(self, index: TermIndex, term: str, marked: Bits, check: Callable[[], None]) -> None:
        self._index = index
        self._term = term
        self._text = term.encode()
        self._marked = marked
        self._check = check

    def by_tokens(self, tokens: Array) -> None:
        """Mark the rows of a term that those rows hold, and no others, which have any of the tokens."""
        if not self._index.mark(self._marked, tokens, 0):
            self._mark_by_texts(~self._marked)

    def within_words(self) -> None:
        """Mark the rows of a term that lies within one word wherever it stands."""
        index, words, marked = self._index, self._index.vocabulary, self._marked
        head = min(_HEAD, words.words)
        tail = words.words - head
        if index.mark(marked, words.holding(self._text, 0, head), tail * 4) and (
            not tail or index.mark(marked, words.holding(self._text, head, words.words), 0)
        ):
            return
        self._mark_by_texts(~marked)

    def by_candidates(self, runs: list[tuple[int, int]]) -> None:
        """Mark the rows of a term that is neither one word nor part of one."""
        index, vocabulary = self._index, self._index.vocabulary
        tokens = self._tokens(runs)
        if None in tokens:
            return
        rows = ~self._marked
        for token in sorted({token for token in tokens if token is not None}, key=vocabulary.count):
            if vocabulary.count(token) == index.places.rows or marked_in(rows) <= _FEW:
                break
            rows &= index.holding(token)
        self._mark_by_texts(self._narrowed(runs, rows))

    def _mark_by_texts(self, rows: Bits) -> None:
        """Mark those of the rows whose text holds the term."""
        mark_places(self._marked, self._index.with_text(rows, self._text, self._check))

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

    def _narrowed(self, runs: list[tuple[int, int]], rows: Bits) -> Bits:
        """Those of the rows with words that end as the term begins, and begin as it ends."""
        index, vocabulary = self._index, self._index.vocabulary
        for a, b in runs:
            if (a > 0 and b < len(self._term)) or marked_in(rows) <= _FEW:
                continue
            part = self._term[a:b].encode()
            words = vocabulary.beginning(part) if a > 0 else vocabulary.holding(part + b"\n", 0, vocabulary.words)
            marked = index.places.spare.copy()
            if index.mark(marked, words, 0):
                rows &= marked
        return rows

"""The search indexes of an opened version, which find the rows whose text holds a term (contract 4.6 and 4.7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from engine.read.files.files import OpenedApi
from engine.read.files.opened_tables import OpenedTables
from engine.read.files.unusable import SnapshotUnusable
from engine.read.search.placed_rows import PlacedRows, Places
from engine.read.search.postings import DamagedIndex
from engine.read.search.row_bits import RowBits
from engine.read.search.term_index import TermIndex
from snapshots.columns import indexed_fields
from snapshots.model import Api


class SearchIndexes:
    """The indexes of all APIs. Any number of threads may use them at the same time."""

    def __init__(self, apis: Mapping[str, OpenedApi]) -> None:
        """``apis`` are those of a version by ``uid``."""
        self._apis = apis
        self._has = {uid: all(part.part.is_indexed for part in api.parts) for uid, api in apis.items()}
        self._languages: dict[tuple[str, str], _Language | None] = {}

    def has(self, api: Api) -> bool:
        """Whether an API's texts are indexed; those of a version built without an index are not."""
        return self._has[api.uid]

    def holding(
        self, api: Api, languages: Sequence[str], fields: Sequence[str], term: str, check: Callable[[], None]
    ) -> list[PlacedRows]:
        """Return the rows one of whose ``fields`` holds ``term``, by language, without those that have no rows.

        ``term`` is normalised as texts are compared. Raises what ``check`` raises, which is called now and then, and
        ``SnapshotUnusable`` where an index is damaged in the cache.
        """
        indexed = set(fields).intersection(indexed_fields(api))
        found = []
        for lang in languages:
            of_language = self._language(api, lang)
            if of_language is None:
                continue
            try:
                found.append(of_language.holding(indexed, term, check))
            except DamagedIndex:
                of_language.discard()
                raise SnapshotUnusable(f"The search index of {api.endpoint} is damaged. It is rebuilt.") from None
        return found

    def _language(self, api: Api, lang: str) -> _Language | None:
        """The indexes of an API in a language, ``None`` where it has no rows."""
        name, opened = (api.uid, lang), self._apis[api.uid]
        if name not in self._languages:
            tables = opened.tables
            has_rows = tables is not None and tables.languages.get(lang)
            self._languages[name] = _Language(opened, tables, lang) if tables is not None and has_rows else None
        return self._languages[name]


class _Language:
    """The indexes of an API in one language, and the rows of the API at their places."""

    def __init__(self, opened: OpenedApi, tables: OpenedTables, lang: str) -> None:
        there = [(number, part) for number, part in enumerate(opened.parts) if lang in part.ranges]
        ranges = [part.ranges[lang] for _, part in there]
        bits = RowBits([len(inside) for inside in ranges])
        self._files = {number: part.search for number, part in there}
        self._vocabulary, self._lang = tables.vocabulary, lang
        self._damaged = tables if tables.vocabulary is not None else there[0][1]
        self._indexes: dict[str, TermIndex] = {}
        begins = np.zeros(len(opened.parts), np.intp)
        begins[[number for number, _ in there]] = np.arange(len(there)) * bits.stride - [one.start for one in ranges]
        rows = tables.languages[lang]
        parts, positions = (np.asarray(array[rows.start : rows.stop]) for array in (tables.parts, tables.positions))
        self._places: Final = Places(bits, rows, begins[parts] + positions)

    def holding(self, fields: Iterable[str], term: str, check: Callable[[], None]) -> PlacedRows:
        """Return the rows one of whose ``fields`` holds a term. Raises ``DamagedIndex``, and what ``check`` raises."""
        spare = self._places.bits.spare
        marked = spare.copy()
        # The largest comes first: rows that are marked once are not looked up again.
        for index in sorted(map(self._index, fields), key=lambda one: -one.size):
            index.mark_matching(term, marked, check)
        return PlacedRows(marked & ~spare, self._places)

    def discard(self) -> None:
        """Have the search index made again by the next process that opens a version."""
        self._damaged.discard()

    def _index(self, field: str) -> TermIndex:
        found = self._indexes.get(field)
        if found is None:
            made = TermIndex(self._files, self._vocabulary, self._places.bits, self._lang, field)
            found = self._indexes[field] = made
        return found

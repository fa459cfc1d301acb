"""The search indexes of an opened version, which find the rows whose text holds a term (contract 4.6 and 4.7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from engine.read.files.files import OpenedApi
from engine.read.search.term_index import TermIndex
from snapshots.columns import indexed_fields
from snapshots.model import Api

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_MANY: Final = 16
"""Marking one row takes as long as copying so many marks."""


class SearchIndexes:
    """The indexes of all APIs. Any number of threads may use them at the same time."""

    def __init__(self, apis: Mapping[str, OpenedApi]) -> None:
        """``apis`` are those of a version by ``uid``."""
        self._apis = apis
        self._indexes: dict[tuple[str, str, str], TermIndex] = {}
        self._orders: dict[tuple[str, str], tuple[Array, Array]] = {}

    def has(self, api: Api) -> bool:
        """Whether an API's texts are indexed; those of a version built without an index are not."""
        return all(part.part.is_indexed for part in self._apis[api.uid].parts)

    def holding(
        self,
        api: Api,
        languages: Sequence[str],
        fields: Sequence[str],
        term: str,
        rows: int,
        check: Callable[[], None],
    ) -> Array:
        """Return for each of an API's ``rows`` whether one of ``fields`` holds ``term``; right in ``languages`` only.

        ``term`` is normalised as texts are compared. Raises what ``check`` raises, which is called now and then.
        """
        marks = np.zeros(rows, dtype=bool)
        indexed = set(fields).intersection(indexed_fields(api))
        for lang in languages:
            inside = self._rows_of(api, lang)
            if not inside:
                continue
            found = np.zeros(len(inside), dtype=bool)
            # The largest comes first: rows that are marked once are not looked up again.
            for index in sorted((self._index(api, lang, field) for field in indexed), key=lambda one: -one.size):
                index.mark_matching(term, found, check)
            in_tables, places = self._order(api, lang)
            hits = np.flatnonzero(found)
            if len(hits) * _MANY < len(found):
                marks[in_tables[hits]] = True
            else:
                marks[inside.start : inside.stop] = found.take(places)
        return marks

    def _index(self, api: Api, lang: str, field: str) -> TermIndex:
        found = self._indexes.get((api.uid, lang, field))
        if found is None:
            opened = self._apis[api.uid]
            parts = [part.index(lang, field) if lang in part.ranges else None for part in opened.parts]
            joined = opened.tables.vocabulary if opened.tables is not None else None
            found = self._indexes[api.uid, lang, field] = TermIndex(parts, joined, lang, field)
        return found

    def _rows_of(self, api: Api, lang: str) -> range:
        tables = self._apis[api.uid].tables
        return tables.languages.get(lang, range(0)) if tables is not None else range(0)

    def _order(self, api: Api, lang: str) -> tuple[Array, Array]:
        """Return the row in a language of each row of the indexes, which are part by part, and the other way round:
        the place there of each row in the language."""
        found = self._orders.get((api.uid, lang))
        if found is None:
            rows = [
                opened.rows_of(number)[inside.start : inside.stop]
                for opened in (self._apis[api.uid].tables,)
                for number, part in enumerate(self._apis[api.uid].parts)
                if opened is not None and (inside := part.ranges.get(lang)) is not None
            ]
            order = np.concatenate(rows).astype(np.intp)
            places = np.empty(len(order), np.intp)
            places[order - self._rows_of(api, lang).start] = np.arange(len(order))
            found = self._orders[api.uid, lang] = (order, places)
        return found

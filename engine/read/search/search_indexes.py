"""The search indexes of an opened version, which find the rows whose text holds a term (contract 4.6 and 4.7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from engine.read.files.files import OpenedApi
from engine.read.search.term_index import TermIndex
from snapshots.columns import indexed_fields
from snapshots.model import Api

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class SearchIndexes:
    """The indexes of all APIs. Any number of threads may use them at the same time."""

    def __init__(self, apis: Mapping[str, OpenedApi]) -> None:
        """``apis`` are those of a version by ``uid``."""
        self._apis = apis
        self._indexes: dict[tuple[str, str, str], TermIndex] = {}
        self._rows: dict[tuple[str, str], Array] = {}

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
            places = self._rows_of(api, lang)
            if not len(places):
                continue
            found = np.zeros(len(places), dtype=bool)
            # The largest comes first: rows that are marked once are not looked up again.
            for index in sorted((self._index(api, lang, field) for field in indexed), key=lambda one: -one.size):
                index.mark_matching(term, found, check)
            marks[places[found]] = True
        return marks

    def _index(self, api: Api, lang: str, field: str) -> TermIndex:
        found = self._indexes.get((api.uid, lang, field))
        if found is None:
            opened = self._apis[api.uid]
            parts = [part.index(lang, field) if lang in part.ranges else None for part in opened.parts]
            joined = opened.tables.vocabulary if opened.tables is not None else None
            found = self._indexes[api.uid, lang, field] = TermIndex(parts, joined, lang, field)
        return found

    def _rows_of(self, api: Api, lang: str) -> Array:
        """Return the row of each version in a language, part by part, as the indexes have them."""
        found = self._rows.get((api.uid, lang))
        if found is None:
            opened = self._apis[api.uid]
            places = [np.zeros(0, np.uint32)]
            for number, part in enumerate(opened.parts):
                inside = part.ranges.get(lang)
                if inside is not None and opened.tables is not None:
                    places.append(opened.tables.rows_of(number)[inside.start : inside.stop])
            found = self._rows[api.uid, lang] = np.concatenate(places)
        return found

"""The search indexes of an opened version, which find the rows whose text holds a term (contract 4.6 and 4.7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from engine.read.files.opened_part import OpenedPart
from engine.read.reader.search import TermIndex
from snapshots.columns import indexed_fields
from snapshots.model import Api

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class SearchIndexes:
    """The indexes of all APIs. Any number of threads may use them at the same time."""

    def __init__(self, parts: Mapping[str, Sequence[OpenedPart]]) -> None:
        """``parts`` are those of each API, by its ``uid``."""
        self._indexed = {uid for uid, of_api in parts.items() if all(one.part.is_indexed for one in of_api)}
        self._indexes = {
            (uid, source.lang, field): (part.first + rows.start, TermIndex(part.search, source.lang, field))
            for uid, of_api in parts.items()
            if uid in self._indexed
            for part in of_api
            for source, rows in part.part.ranges()
            for field in indexed_fields(part.part.api)
        }

    def has(self, api: Api) -> bool:
        """Whether an API's texts are indexed; those of a version built without an index are not."""
        return api.uid in self._indexed

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
        for lang in languages:
            indexes = filter(None, (self._indexes.get((api.uid, lang, field)) for field in fields))
            # The largest comes first: rows that are marked once are not looked up again.
            for first, index in sorted(indexes, key=lambda found: -found[1].size):
                index.mark_matching(term, marks[first : first + index.rows], check)
        return marks

"""The search indexes of an opened version, which find the rows whose text holds a term (contract 4.6 and 4.7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from engine.read.files.files import OpenedApi
from snapshots.columns import indexed_fields
from snapshots.model import Api

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class SearchIndexes:
    """The indexes of all APIs. Any number of threads may use them at the same time."""

    def __init__(self, apis: Mapping[str, OpenedApi]) -> None:
        """``apis`` are those of a version by ``uid``."""
        self._indexed = {
            uid: api.tables
            for uid, api in apis.items()
            if api.tables is not None and all(part.part.is_indexed for part in api.parts)
        }
        self._apis = apis

    def has(self, api: Api) -> bool:
        """Whether an API's texts are indexed; those of a version built without an index are not."""
        return api.uid in self._indexed or self._apis[api.uid].tables is None

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
        for number, part in enumerate(self._apis[api.uid].parts):
            all_rows = self._indexed[api.uid].rows_of(number)
            for lang in languages:
                inside = part.ranges.get(lang)
                if not inside:
                    continue
                of_part = all_rows[inside.start : inside.stop]
                found = marks[of_part]
                # The largest comes first: rows that are marked once are not looked up again.
                for index in sorted((part.index(lang, field) for field in indexed), key=lambda one: -one.size):
                    index.mark_matching(term, found, check)
                marks[of_part] = found
        return marks

"""The search indexes of an opened version: a term → the rows whose text holds it (contract 4.6 and 4.7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from engine.cache.search_file import SearchFile, is_indexed
from engine.reader.search import TermIndex
from snapshots.model import Api
from snapshots.store.manifest import Manifest

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class SearchIndexes:
    """The indexes of all APIs. Any number of threads may use them at the same time."""

    def __init__(self, file: SearchFile, manifest: Manifest) -> None:
        self._file = file
        self._indexed = {api.uid for api in manifest.workspace.apis if is_indexed(manifest, api)}
        self._indexes = {(one.api, one.lang, one.field): TermIndex(file, one) for one in file.sections}

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
            indexes = [self._indexes.get((api.uid, lang, field)) for field in fields]
            # The largest comes first: rows that are marked once are not looked up again.
            for index in sorted(filter(None, indexes), key=lambda index: -index.size):
                index.mark_matching(term, marks[index.first : index.first + index.rows], check)
        return marks

    def close(self) -> None:
        """Close the file. No search may be running, and none can run after."""
        self._indexes.clear()
        self._file.close()

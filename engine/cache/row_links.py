"""A version's rows → what they know of each other by position: entries, places, references (design section 4).

Worked out in memory, from the few columns that tell it, when a version's cache is made. A row's position is its
``rowid`` in the API's table.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.cache.version_files import VersionFiles
from snapshots.model import REFERENCE_TYPES, Api, Field, FieldType

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

INSTANTS: Final = ("publishedAt", "live_from", "live_until")


class ApiRows:
    """The rows of one API: its languages' one after the other, each as its file has them.

    Entries are numbered in the order of their IDs' bytes, whatever language they are in.
    """

    def __init__(self, files: VersionFiles, api: Api) -> None:
        """Raises ``SnapshotUnusable`` for a file that cannot be read, or has not the columns."""
        fields = [field for field in api.fields if field.type in REFERENCE_TYPES]
        names = ["id", *INSTANTS, *(field.id for field in fields)]
        tables = [files.read(api, lang, file, names) for lang, file in files.of(api)]
        self.rows: Final[dict[str, range]] = {}
        """By language."""
        end = 0
        for (lang, _), table in zip(files.of(api), tables, strict=True):
            first, end = end, end + len(table)
            self.rows[lang] = range(first, end)

        def column(name: str, kind: pa.DataType) -> pa.ChunkedArray:
            return pa.chunked_array([chunk for table in tables for chunk in table[name].cast(kind).chunks], kind)

        self.instants: Final[dict[str, Array]] = {
            name: column(name, pa.timestamp("ms", "UTC")).cast(pa.int64()).to_numpy() for name in INSTANTS
        }
        """UTC milliseconds, by column."""
        encoded = column("id", pa.string()).combine_chunks().dictionary_encode()
        self.ids: Final = encoded.dictionary
        """The entries' IDs, in any order."""
        self.of_row: Final[Array] = encoded.indices.to_numpy()
        """The place in ``ids`` of each row's."""
        self.numbers: Final[Array] = np.empty(len(self.ids), np.int64)
        """The number of the entry with each of ``ids``."""
        self.numbers[pc.array_sort_indices(self.ids).to_numpy()] = np.arange(len(self.ids))
        self.entries: Final[Array] = self.numbers[self.of_row]
        """The number of each row's entry."""
        self._references: Final = {
            field.id: column(field.id, pa.list_(pa.string()) if field.type is FieldType.REFERENCES else pa.string())
            for field in fields
        }

    def in_default_order(self) -> bool:
        """Whether each language's rows are: ``publishedAt`` descending, then ``id``."""
        for rows in self.rows.values():
            published, entries = (
                values[rows.start : rows.stop] for values in (self.instants["publishedAt"], self.entries)
            )
            later, tied = published[1:] < published[:-1], published[1:] == published[:-1]
            if not (later | (tied & (entries[1:] > entries[:-1]))).all():
                return False
        return True

    def places(self) -> Array:
        """Where each row is in the default order of all languages together."""
        places = np.empty(len(self.entries), np.int64)
        places[np.lexsort((self.entries, -self.instants["publishedAt"]))] = np.arange(len(places))
        return places

    def versions(self, lang: str) -> Array:
        """For each entry the position of its version in a language, or -1."""
        versions = np.full(len(self.ids), -1, np.int64)
        rows = self.rows.get(lang, range(0))
        versions[self.entries[rows.start : rows.stop]] = np.arange(rows.start, rows.stop)
        return versions

    def reference(self, field: Field, target: ApiRows) -> Array:
        """For a single reference the number of the entry that each row names, or -1 where there is none."""
        return target.numbers_of(self._references[field.id])

    def references(self, field: Field, target: ApiRows) -> tuple[Array, Array]:
        """For a list of references where each row's begin, and at last where they end; and the entries' numbers, row
        after row, without those that do not exist."""
        lists = self._references[field.id]
        found = target.numbers_of(pa.chunked_array([part.flatten() for part in lists.chunks], pa.string()))
        counts = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
        exists = found >= 0
        before = np.concatenate([[0], np.cumsum(exists)])
        starts = before[np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)]
        return starts.astype(np.int64), found[exists]

    def numbers_of(self, ids: pa.ChunkedArray) -> Array:
        """The numbers of the entries with these IDs, -1 where there is none."""
        places = pc.fill_null(pc.index_in(ids, value_set=self.ids), -1).to_numpy()
        numbers: Array = np.append(self.numbers, -1)[places]
        return numbers

"""An API's rows by position: the body of a row, the rows of an ID, the entries a row refers to (design section 4).

All of it follows from the snapshot alone and was written when the version's cache was made. It decides nothing about
which rows a list has: that is SQL's.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final

from engine.cache.bodies import Bodies
from engine.cache.row_arrays import (
    ID_HASHES,
    ID_ROWS,
    LIVE_FROM,
    LIVE_UNTIL,
    id_hash,
    reference_starts_array,
    references_array,
    versions_array,
)
from engine.visibility import Visibility, chosen, is_live
from snapshots.model import Api, Field, FieldType
from snapshots.store.manifest import Manifest

EntryNumbers = int | list[int] | None
"""What a reference field names, as entry numbers: one or none, or a list for ``references``."""


class Rows:
    """The rows of one API of an opened version."""

    def __init__(self, api: Api, manifest: Manifest, bodies: Bodies) -> None:
        self._uid: Final = api.uid
        self._bodies: Final = bodies
        self.body: Final = bodies.of(api.uid)
        """The function from a row to the entry as JSON."""
        self.mean_size: Final = bodies.mean_size(api.uid)
        """Bytes of an entry as JSON, on average."""
        self._live_from: Final = bodies.numbers(api.uid, LIVE_FROM)
        self._live_until: Final = bodies.numbers(api.uid, LIVE_UNTIL)
        self._hashes: Final = bodies.numbers(api.uid, ID_HASHES)
        self._hashed_rows: Final = bodies.numbers(api.uid, ID_ROWS)
        self.of_language: Final[dict[str, range]] = {}
        """The rows of each language, the main one first."""
        end = 0
        for lang in manifest.workspace.languages_of(api):
            file = manifest.file(api, lang)
            first, end = end, end + (0 if file is None else file.rows)
            self.of_language[lang] = range(first, end)
        self.count: Final = end
        """How many rows the API has, in all languages."""

    def is_live(self, row: int, now: int) -> bool:
        """Whether the version in a row is live at ``now`` (UTC milliseconds)."""
        return is_live(self._live_from[row], self._live_until[row], now)

    def versions(self, entry_id: str) -> list[int]:
        """The rows of an entry, in the order of the API's languages, live or not."""
        hashes, wanted = self._hashes, id_hash(entry_id)
        found = []
        start = f'{{"id":"{entry_id}"'.encode()
        for place in range(bisect_left(hashes, wanted), len(hashes)):
            if hashes[place] != wanted:
                break
            row = self._hashed_rows[place]
            if self.body(row).startswith(start):
                found.append(row)
        return found

    def entry(self, entry_id: str, visibility: Visibility, now: int) -> int | None:
        """Return the row of an entry that a request gets, ``None`` for none (contract 4.11)."""
        live = [row for row in self.versions(entry_id) if self.is_live(row, now)]
        return chosen(visibility, lambda lang: next((row for row in live if row in self.of_language[lang]), None))

    def item(self, visibility: Visibility, now: int) -> int | None:
        """Return the row of an object API's item that a request gets. It may have another ID in each language."""
        return chosen(
            visibility, lambda lang: next((row for row in self.of_language[lang] if self.is_live(row, now)), None)
        )

    def live_languages(self, row: int, now: int) -> list[str]:
        """The languages in which the entry of a row has a live version, in the order of the API's languages."""
        body = self.body(row)
        live = [one for one in self.versions(body[7 : body.index(b'"', 7)].decode()) if self.is_live(one, now)]
        return [lang for lang, rows in self.of_language.items() if any(one in rows for one in live)]

    def language(self, row: int) -> str:
        """The language of a row."""
        return next(lang for lang, rows in self.of_language.items() if row in rows)

    def live_rows(self, numbers: Iterable[int], visibility: Visibility, now: int) -> dict[int, int]:
        """Return of entries, by number, the rows that a request gets; entries of which there is none are left out."""
        live_from, live_until = self._live_from, self._live_until
        versions = {lang: self._bodies.numbers(self._uid, versions_array(lang)) for lang in visibility.languages}
        rows: dict[int, int] = {}
        for number in numbers:

            def live_row(lang: str, number: int = number) -> int | None:
                row = versions[lang][number]
                return row if row >= 0 and is_live(live_from[row], live_until[row], now) else None

            row = chosen(visibility, live_row)
            if row is not None:
                rows[number] = row
        return rows

    def references(self, fields: Sequence[Field], rows: Sequence[int]) -> Iterable[tuple[EntryNumbers, ...]]:
        """The entries that some reference fields of each row name, one item a field."""
        if not fields:
            return [()] * len(rows)
        return zip(*(self._named(field, rows) for field in fields), strict=True)

    def _named(self, field: Field, rows: Sequence[int]) -> list[EntryNumbers]:
        numbers = self._bodies.numbers(self._uid, references_array(field))
        if field.type is FieldType.REFERENCES:
            starts = self._bodies.numbers(self._uid, reference_starts_array(field))
            return [numbers[starts[row] : starts[row + 1]].tolist() for row in rows]
        return [None if (number := numbers[row]) < 0 else number for row in rows]

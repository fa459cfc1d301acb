"""An API's rows by position: where an entry is, which rows are live, what they refer to. No statement is needed.

All of it follows from the snapshot alone and was written beside the bodies when the version was materialised; whatever
has a condition of its own, an order or a search is answered by SQL.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Final

from engine.cache.bodies import Bodies
from engine.cache.row_arrays import (
    ID_HASHES,
    ID_ROWS,
    LIVE_FROM,
    LIVE_UNTIL,
    PUBLISHED,
    id_hash,
    reference_starts_array,
    references_array,
    versions_array,
)
from engine.query.plan import Expansion, Visibility
from snapshots.model import Api, FieldType
from snapshots.store.manifest import Manifest

EntryNumbers = int | list[int] | None
"""What a reference field names, as entry numbers: one or none, or a list for ``references``."""


class Positions:
    """The rows of one API of an opened version."""

    def __init__(self, api: Api, manifest: Manifest, bodies: Bodies) -> None:
        self._uid: Final = api.uid
        self._bodies: Final = bodies
        self.body: Final = bodies.of(api.uid)
        """The function from a row to the entry as JSON."""
        self.mean_size: Final = bodies.mean_size(api.uid)
        """Bytes of an entry as JSON, on average."""
        self.published: Final = bodies.numbers(api.uid, PUBLISHED)
        """``publishedAt`` of every row, UTC milliseconds."""
        self._live_from: Final = bodies.numbers(api.uid, LIVE_FROM)
        self._live_until: Final = bodies.numbers(api.uid, LIVE_UNTIL)
        self._hashes: Final = bodies.numbers(api.uid, ID_HASHES)
        self._hashed_rows: Final = bodies.numbers(api.uid, ID_ROWS)
        self.rows: Final[dict[str, range]] = {}
        """The rows of each language."""
        end = 0
        for lang in manifest.workspace.languages_of(api):
            file = manifest.file(api, lang)
            first, end = end, end + (0 if file is None else file.rows)
            self.rows[lang] = range(first, end)

    def is_live(self, row: int, now: int) -> bool:
        """Decision 22, as ``sql.LIVE`` has it: ``now`` is UTC milliseconds."""
        return self._live_from[row] <= now < self._live_until[row]

    def versions(self, entry_id: str) -> list[int]:
        """The rows of an entry, in the order of the API's languages, live or not."""
        return [row for row, is_its_own in self._looked_at(entry_id) if is_its_own]

    def _looked_at(self, entry_id: str) -> list[tuple[int, bool]]:
        """Rows, and whether each is one of the entry's: as many for an ID that no entry has as for any other, so that
        time does not tell one from the ID of an entry that is not live."""
        hashes, wanted = self._hashes, id_hash(entry_id)
        found = []
        start = f'{{"id":"{entry_id}"'.encode()
        first = bisect_left(hashes, wanted)
        for place in range(first, len(hashes)):
            if place >= first + len(self.rows) and hashes[place] != wanted:
                break
            row = self._hashed_rows[place]
            found.append((row, self.body(row).startswith(start)))
        return found

    def entry(self, entry_id: str, visibility: Visibility, now: int) -> int | None:
        """The row of an entry that the language rule chooses (contract 4.11)."""
        live = [row for row, is_its_own in self._looked_at(entry_id) if self.is_live(row, now) and is_its_own]
        for lang in (visibility.lang, visibility.fallback):
            if lang is not None:
                for row in live:
                    if row in self.rows[lang]:
                        return row
        return None

    def item(self, visibility: Visibility, now: int) -> int | None:
        """The row of an object API's item that the language rule chooses. It may have another ID in each language."""
        for lang in (visibility.lang, visibility.fallback):
            if lang is not None:
                for row in self.rows[lang]:
                    if self.is_live(row, now):
                        return row
        return None

    def entry_number(self, entry_id: str) -> int | None:
        """The number by which references lead to an entry; ``None`` for what no version of the API is."""
        by_language = [self._bodies.array(self._uid, versions_array(lang)) for lang in self.rows]
        versions = [rows for rows in by_language if rows is not None]
        wanted = entry_id.encode()

        def named(number: int) -> bytes:
            body = self.body(max(rows[number] for rows in versions))
            return body[7 : body.index(b'"', 7)]

        count = len(versions[0]) if versions else 0
        number = bisect_left(range(count), wanted, key=named)
        return number if number < count and named(number) == wanted else None

    def live_languages(self, row: int, now: int) -> list[str]:
        """The languages in which the entry of a row has a live version, in the order of the API's languages."""
        body = self.body(row)
        live = [one for one in self.versions(body[7 : body.index(b'"', 7)].decode()) if self.is_live(one, now)]
        return [lang for lang, rows in self.rows.items() if any(one in rows for one in live)]

    def language(self, row: int) -> str:
        """The language of a row."""
        return next(lang for lang, rows in self.rows.items() if row in rows)

    def live_rows(self, numbers: Iterable[int], visibility: Visibility, now: int) -> dict[int, int]:
        """Entry numbers with the rows that the language rule chooses; those of which there is none are left out."""
        live_from, live_until = self._live_from, self._live_until
        rows: dict[int, int] = {}
        # What is in the language itself takes the place of what stands in for it.
        for lang in (visibility.fallback, visibility.lang):
            if lang is not None:
                versions = self._bodies.numbers(self._uid, versions_array(lang))
                for number in numbers:
                    row = versions[number]
                    if row >= 0 and live_from[row] <= now < live_until[row]:
                        rows[number] = row
        return rows

    def references(self, expansions: Sequence[Expansion], rows: Sequence[int]) -> Iterable[tuple[EntryNumbers, ...]]:
        """The entries that the reference fields of each row name, one item an expansion."""
        if not expansions:
            return [()] * len(rows)
        return zip(*(self._named(expansion, rows) for expansion in expansions), strict=True)

    def _named(self, expansion: Expansion, rows: Sequence[int]) -> list[EntryNumbers]:
        numbers = self._bodies.numbers(self._uid, references_array(expansion.field))
        if expansion.field.type is FieldType.REFERENCES:
            starts = self._bodies.numbers(self._uid, reference_starts_array(expansion.field))
            return [numbers[starts[row] : starts[row + 1]].tolist() for row in rows]
        return [None if (number := numbers[row]) < 0 else number for row in rows]

    def published_between(self, rows: Sequence[int], above: int | None, below: int | None) -> Sequence[int]:
        """Of rows in default order those published after ``above`` and before ``below``: a part of them."""
        published = self.published
        first, last = 0, len(rows)
        if below is not None:
            first = bisect_right(rows, -below, key=lambda row: -published[row])
        if above is not None:
            last = bisect_left(rows, -above, key=lambda row: -published[row])
        return rows[first:last] if first < last else rows[:0]

"""An API's rows by position: the body of a row, the rows of an ID, the entries a row refers to (design section 4).

All of it follows from the snapshot alone and was written when the parts of the version were made. It decides nothing
about which rows a list has: that is SQL's.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from engine.cache.entry_number import entry_number
from engine.cache.opened_part import OpenedPart
from engine.visibility import Visibility, chosen, is_live
from snapshots.model import Api, Field, FieldType, Workspace

EntryNumbers = int | list[int] | None
"""What a reference field names, as entry numbers: one or none, or a list for ``references``."""


class Rows:
    """The rows of one API of an opened version: those of its parts, one after the other."""

    def __init__(self, api: Api, workspace: Workspace, parts: Sequence[OpenedPart]) -> None:
        self._parts: Final = parts
        self._firsts: Final = [part.first for part in parts]
        ranges = {
            one.lang: (part, range(part.first + rows.start, part.first + rows.stop))
            for part in parts
            for one, rows in part.part.ranges()
        }
        self._part_of: Final = {lang: part for lang, (part, _) in ranges.items()}
        self.of_language: Final[dict[str, range]] = {
            lang: ranges[lang][1] if lang in ranges else range(0) for lang in workspace.languages_of(api)
        }
        """The rows of each language, the main one first."""
        self.count: Final = sum(part.part.rows for part in parts)
        """How many rows the API has, in all languages."""
        self.mean_size: Final = sum(part.bodies_size for part in parts) / max(1, self.count)
        """Bytes of an entry as JSON, on average."""

    def _part(self, row: int) -> OpenedPart:
        return self._parts[bisect_right(self._firsts, row) - 1]

    def body(self, row: int) -> bytes:
        """Return a row's entry as JSON. Raises ``SnapshotUnusable`` where it is damaged in the cache."""
        part = self._part(row)
        return part.body(row - part.first)

    def is_live(self, row: int, now: int) -> bool:
        """Whether the version in a row is live at ``now`` (UTC milliseconds)."""
        part = self._part(row)
        at = row - part.first
        return is_live(part.live_from[at], part.live_until[at], now)

    def _live_row(self, number: int, lang: str, now: int) -> int | None:
        """The row of an entry's version in a language where that version is live."""
        part, rows = self._part_of.get(lang), self.of_language[lang]
        if part is not None:
            for at in part.rows_of(number):
                if part.first + at in rows:
                    return part.first + at if is_live(part.live_from[at], part.live_until[at], now) else None
        return None

    def entry(self, entry_id: str, visibility: Visibility, now: int) -> int | None:
        """Return the row of an entry that a request gets, ``None`` for none (contract 4.11)."""
        number = entry_number(entry_id)
        return chosen(visibility, lambda lang: self._live_row(number, lang, now))

    def item(self, visibility: Visibility, now: int) -> int | None:
        """Return the row of an object API's item that a request gets. It may have another ID in each language."""
        return chosen(
            visibility, lambda lang: next((row for row in self.of_language[lang] if self.is_live(row, now)), None)
        )

    def live_languages(self, row: int, now: int) -> list[str]:
        """The languages in which the entry of a row has a live version, in the order of the API's languages."""
        body = self.body(row)
        number = entry_number(body[7 : body.index(b'"', 7)].decode())
        return [lang for lang in self.of_language if self._live_row(number, lang, now) is not None]

    def language(self, row: int) -> str:
        """The language of a row."""
        return next(lang for lang, rows in self.of_language.items() if row in rows)

    def live_rows(self, numbers: Iterable[int], visibility: Visibility, now: int) -> dict[int, int]:
        """Return of entries, by number, the rows that a request gets; entries of which there is none are left out."""
        rows: dict[int, int] = {}
        for number in numbers:
            row = chosen(visibility, partial(self._live_row, number, now=now))
            if row is not None:
                rows[number] = row
        return rows

    def references(self, fields: Sequence[Field], rows: Sequence[int]) -> Iterable[tuple[EntryNumbers, ...]]:
        """The entries that some reference fields of each row name, one item a field."""
        if not fields:
            return [()] * len(rows)
        return zip(*(self._named(field, rows) for field in fields), strict=True)

    def _named(self, field: Field, rows: Sequence[int]) -> Iterator[EntryNumbers]:
        is_list = field.type is FieldType.REFERENCES
        for row in rows:
            part = self._part(row)
            found = part.references(field.id, row - part.first)
            yield found if is_list else found[0] if found else None

"""An API's rows by position: the body of a row, the rows of an ID, the entries a row refers to (design section 4).

All of it follows from the snapshot alone and was written when the parts of the version were made. It decides nothing
about which rows a list has: that is SQL's.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from msgspec import UNSET

from engine.read.files.entry_number import entry_number
from engine.read.files.opened_part import OpenedPart
from engine.timeline.flips import Flips
from engine.timeline.windows import Windows
from engine.visibility import Visibility, chosen, is_live
from snapshots.model import Api, FieldPath, Workspace

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

EntryNumbers: TypeAlias = int | list[int] | list[tuple[int, int]] | None
"""The entries that a reference field names, as numbers: one or none; a list for ``references`` and inside groups, in
the order in which they are delivered; and for several APIs, with each the number of the endpoint before it."""


class Rows:
    """The rows of one API of an opened version: those of its parts, one after the other."""

    def __init__(self, api: Api, workspace: Workspace, parts: Sequence[OpenedPart]) -> None:
        self._parts: Final = parts
        self._firsts: Final = [part.first for part in parts]
        self._of_language: Final = {one.lang: (part, rows) for part in parts for one, rows in part.part.ranges()}
        """By language, the part that holds its rows, and their positions in the part."""
        self._languages: Final = workspace.languages_of(api)
        self.count: Final = parts[-1].end if parts else 0
        """The number of the API's rows, in all languages."""
        self.mean_size: Final = sum(part.bodies_size for part in parts) / max(1, self.count)
        """Bytes of an entry as JSON, on average."""

    def _part(self, row: int) -> OpenedPart:
        return self._parts[bisect_right(self._firsts, row) - 1]

    def bodies(self, rows: Iterable[int]) -> list[bytes]:
        """The entries of rows as JSON. Raises ``SnapshotUnusable`` where one is damaged in the cache."""
        first = end = 0
        bodies = []
        for row in rows:
            if not first <= row < end:  # most rows are in the part of the one before
                part = self._part(row)
                first, end, body = part.first, part.end, part.body
            bodies.append(body(row - first))
        return bodies

    def is_live(self, row: int, now: int) -> bool:
        """Whether the version in a row is live at ``now`` (UTC milliseconds)."""
        part = self._part(row)
        at = row - part.first
        return is_live(part.live_from[at], part.live_until[at], now)

    def entry(self, entry_id: str, visibility: Visibility, now: int) -> int | None:
        """Return the row of an entry that a request gets, ``None`` for none (contract 4.11)."""
        number = entry_number(entry_id)
        row = self.live_rows([number], visibility, now).get(number)
        if row is None:
            return None
        [body] = self.bodies([row])
        return row if body.startswith(f'{{"id":"{entry_id}"'.encode()) else None

    def item(self, visibility: Visibility, now: int) -> int | None:
        """Return the row of an object API's item that a request gets. It may have another ID in each language."""
        return chosen(
            visibility, lambda lang: next((row for row in self.of_language(lang) if self.is_live(row, now)), None)
        )

    def of_language(self, lang: str) -> range:
        """Return the rows of a language."""
        if lang not in self._of_language:
            return range(0)
        part, rows = self._of_language[lang]
        return range(part.first + rows.start, part.first + rows.stop)

    def flips(self, visibility: Visibility) -> Flips:
        """Return the instants at which the row that a request gets of any entry changes, under a language rule."""
        numbers, windows = self._windows(visibility.lang)
        if visibility.fallback is None:
            return Flips(windows.flips())
        other_numbers, others = self._windows(visibility.fallback)
        either = np.union1d(numbers[windows.are_bounded], other_numbers[others.are_bounded])
        chosen = windows.take_or_never(_positions(either, numbers))
        return Flips(chosen.flips_before(others.take_or_never(_positions(either, other_numbers))))

    def _windows(self, lang: str) -> tuple[Array, Windows]:
        """Return the numbers, ascending, and the live windows of the entries with a version in a language."""
        if lang not in self._of_language:
            return np.zeros(0, np.int64), Windows(*[np.zeros(0, np.int64)] * 2)
        part, rows = self._of_language[lang]
        return part.windows(rows)

    def live_languages(self, row: int, now: int) -> list[str]:
        """The languages in which the entry of a row has a live version, in the order of the API's languages."""
        [body] = self.bodies([row])
        number = entry_number(body[7 : body.index(b'"', 7)].decode())
        return [lang for lang in self._languages if self.live_rows([number], Visibility(lang), now)]

    def is_delivered(self, entry_id: str, now: int) -> bool:
        """Whether an entry with this ID is live in any language at ``now`` (UTC milliseconds). One that is not takes
        the same steps as one that does not exist."""
        return any(self.entry(entry_id, Visibility(lang), now) is not None for lang in self._languages)

    def language(self, row: int) -> str:
        """The language of a row."""
        part = self._part(row)
        return next(one.lang for one, rows in part.part.ranges() if row - part.first in rows)

    def live_rows(self, numbers: Iterable[int], visibility: Visibility, now: int) -> dict[int, int]:
        """Return the rows that a request gets by entry number, without the entries that have none."""
        by_lang = {lang: self._of_language.get(lang) for lang in visibility.languages}
        rows: dict[int, int] = {}

        def live_row(lang: str) -> int | None:
            found = by_lang[lang]
            return None if found is None else found[0].live_row(number, found[1], now)

        for number in numbers:
            row = chosen(visibility, live_row)
            if row is not None:
                rows[number] = row
        return rows

    def references(self, paths: Sequence[FieldPath], rows: Sequence[int]) -> Iterable[tuple[EntryNumbers, ...]]:
        """The entries that these reference fields name in each row: an item a field, a tuple a row."""
        if not paths:
            return [()] * len(rows)
        return zip(*(self._named(path, rows) for path in paths), strict=True)

    def _named(self, path: FieldPath, rows: Sequence[int]) -> list[EntryNumbers]:
        name, is_array, is_several = path.name, path.is_array, path.field.targets is not UNSET
        first = end = 0
        named: list[EntryNumbers] = []
        for row in rows:
            if not first <= row < end:  # as for the bodies
                part = self._part(row)
                first, end, references = part.first, part.end, part.references
            found = references(name, row - first)
            if is_several:
                named.append(list(zip(part.reference_apis(name, row - first), found, strict=True)))
            else:
                named.append(found if is_array or len(path.steps) > 1 else found[0] if found else None)
        return named


def _positions(numbers: Array, among: Array) -> Array:
    """Return the position of each number in an ascending array, -1 for one that is not there."""
    if not len(among):
        return np.full(len(numbers), -1)
    position = np.searchsorted(among, numbers).clip(max=len(among) - 1)
    return np.where(among[position] == numbers, position, -1)

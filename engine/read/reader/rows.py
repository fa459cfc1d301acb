"""An API's rows by position: the body of a row, the rows of an ID, the entries a row refers to (design section 4).

All of it follows from the snapshot alone and was written when the parts of the version were made. It decides nothing
about which rows a list has: that is SQL's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from msgspec import UNSET

from engine.read.files.files import OpenedApi
from engine.read.files.opened_part import OpenedPart
from engine.timeline.flips import Flips
from engine.timeline.windows import Windows
from engine.visibility import Visibility, chosen
from snapshots.data_files.segments import Division, entry_number
from snapshots.model import Api, FieldPath, Workspace

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

EntryNumbers: TypeAlias = int | list[int] | list[tuple[int, int]] | None
"""The entries that a reference field names, as numbers: one or none; a list for ``references`` and inside groups, in
the order in which they are delivered; and for several APIs, with each the number of the endpoint before it."""


class Rows:
    """The rows of one API of an opened version: those of its tables, language by language."""

    def __init__(self, api: Api, workspace: Workspace, opened: OpenedApi) -> None:
        self._parts: Final = opened.parts
        self._tables: Final = opened.tables
        self._division: Final = Division([part.part.segment for part in opened.parts])
        self._part_of: Final[Sequence[int]] = () if opened.tables is None else opened.tables.parts
        self._position_of: Final[Sequence[int]] = () if opened.tables is None else opened.tables.positions
        self._of_language: Final = {} if opened.tables is None else opened.tables.languages
        self._languages: Final = workspace.languages_of(api)
        self.count: Final = len(self._part_of)
        """The number of the API's rows, in all languages."""
        self.mean_size: Final = sum(part.bodies_size for part in opened.parts) / max(1, self.count)
        """Bytes of an entry as JSON, on average."""

    def _place(self, row: int) -> tuple[OpenedPart, int]:
        return self._parts[self._part_of[row]], self._position_of[row]

    def bodies(self, rows: Iterable[int]) -> list[bytes]:
        """The entries of rows as JSON. Raises ``SnapshotUnusable`` where one is damaged in the cache."""
        parts, part_of, position_of = self._parts, self._part_of, self._position_of
        return [parts[part_of[row]].body(position_of[row]) for row in rows]

    def is_live(self, row: int, now: int) -> bool:
        """Whether the version in a row is live at ``now`` (UTC milliseconds)."""
        part, at = self._place(row)
        return part.is_live(at, now)

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
        return self._of_language.get(lang, range(0))

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
        if not self._parts:
            return np.zeros(0, np.uint64), Windows(*[np.zeros(0, np.int64)] * 2)
        # Segments ascend as the numbers of their entries do.
        numbers, windows = zip(*(part.windows(lang) for part in self._parts), strict=True)
        return np.concatenate(numbers), Windows(
            np.concatenate([one.live_from for one in windows]), np.concatenate([one.live_until for one in windows])
        )

    def live_languages(self, row: int, now: int) -> list[str]:
        """The languages in which the entry of a row has a live version, in the order of the API's languages."""
        [body] = self.bodies([row])
        return self.live_languages_of(body[7 : body.index(b'"', 7)].decode(), now)

    def live_languages_of(self, entry_id: str, now: int) -> list[str]:
        """The same of the entry with an ID, which may have no row."""
        number = entry_number(entry_id)
        return [lang for lang in self._languages if self.live_rows([number], Visibility(lang), now)]

    def is_delivered(self, entry_id: str, now: int) -> bool:
        """Whether an entry with this ID is live in any language at ``now`` (UTC milliseconds). One that is not takes
        the same steps as one that does not exist."""
        return any(self.entry(entry_id, Visibility(lang), now) is not None for lang in self._languages)

    def language(self, row: int) -> str:
        """The language of a row."""
        return next(lang for lang, rows in self._of_language.items() if row in rows)

    def live_rows(self, numbers: Iterable[int], visibility: Visibility, now: int) -> dict[int, int]:
        """Return the rows that a request gets by entry number, without the entries that have none."""
        rows: dict[int, int] = {}
        tables = self._tables
        if tables is None:
            return rows
        for number in numbers:
            at = self._division.nearest(number)
            part = self._parts[at]
            position = chosen(visibility, lambda lang, n=number, p=part: p.live_position(n, lang, now))  # type: ignore[misc]
            if position is not None:
                rows[number] = tables.row(at, position)
        return rows

    def references(self, paths: Sequence[FieldPath], rows: Sequence[int]) -> Iterable[tuple[EntryNumbers, ...]]:
        """The entries that these reference fields name in each row: an item a field, a tuple a row."""
        if not paths:
            return [()] * len(rows)
        return zip(*(self._named(path, rows) for path in paths), strict=True)

    def _named(self, path: FieldPath, rows: Sequence[int]) -> list[EntryNumbers]:
        name, is_array, is_several = path.name, path.is_array, path.field.targets is not UNSET
        named: list[EntryNumbers] = []
        for row in rows:
            part, at = self._place(row)
            found = part.references(name, at)
            if is_several:
                named.append(list(zip(found[::2], found[1::2], strict=True)))
            else:
                named.append(found if is_array or len(path.steps) > 1 else found[0] if found else None)
        return named


def _positions(numbers: Array, among: Array) -> Array:
    """Return the position of each number in an ascending array, -1 for one that is not there."""
    if not len(among):
        return np.full(len(numbers), -1)
    position = np.searchsorted(among, numbers).clip(max=len(among) - 1)
    return np.where(among[position] == numbers, position, -1)

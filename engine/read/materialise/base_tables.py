"""Older tables of an API, of which the new ones take the rows of segments that did not change (design section 4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np

from engine.read.files.parts import ApiParts
from engine.read.files.paths import CachePaths, tables_file

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

PARTS_FILE: Final = "parts"
"""The file in the directory of tables with the names of their parts, one a line."""


class Base(msgspec.Struct, frozen=True):
    """Older tables, and the parts that they have in common with the new ones."""

    name: str
    file: Path
    numbers: dict[int, int]
    """The number that such a part has in the new tables, by that in the older ones."""
    parts: int
    """How many parts the older tables have."""

    def new_numbers(self) -> Array:
        """Return the number that each part of the older tables has in the new ones, -1 for one that is gone."""
        found = np.full(self.parts, -1)
        found[list(self.numbers)] = list(self.numbers.values())
        return found


def base_of(api: ApiParts, paths: CachePaths) -> Base | None:
    """Return those tables in the cache that have the most rows in common with an API's new ones; ``None`` where none
    have any."""
    numbers = {part.name: number for number, part in enumerate(api.parts)}
    best: tuple[int, Base | None] = (0, None)
    for directory in sorted(paths.all_tables.iterdir()):
        listed = directory / PARTS_FILE
        if directory.name == api.name or not listed.is_file() or not tables_file(directory).is_file():
            continue
        names = listed.read_text().split()
        common = {at: numbers[name] for at, name in enumerate(names) if name in numbers}
        rows = sum(api.parts[number].rows for number in common.values())
        if rows > best[0]:
            best = (rows, Base(directory.name, tables_file(directory), common, len(names)))
    return best[1]

"""The errors of a version that cannot be opened from the cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from snapshots.problems import ParquetryError

if TYPE_CHECKING:
    from engine.read.files.parts import ApiParts, Part


class SnapshotUnusable(ParquetryError):
    """A version cannot be served: a file is missing or altered, or it cannot be read."""


class CacheUnfit(SnapshotUnusable):
    """Parts or tables in the cache are missing or damaged: they have to be made again."""

    def __init__(self, message: str, parts: Sequence[Part], tables: Sequence[ApiParts] = ()) -> None:
        super().__init__(message)
        self.parts = parts
        self.tables = tables
        """The APIs whose tables these are. Those of which a part is made again can be opened as they are."""

"""The questions that the tools ask of content, wherever it is."""

from __future__ import annotations

from typing import Any, Final, Protocol

from snapshots.problems import ParquetryError

SHOWN: Final = 200
"""Entries that a diff names of each API, language and kind of change; it counts them all."""


class NotThere(ParquetryError):
    """The content does not have what was asked for, or does not tell it."""


class ContentSource(Protocol):
    """A workspace that can be asked."""

    workspace: str
    """The workspace's ID."""
    compares: bool
    """Whether ``diff`` may be asked: that of a store is its owner's, as it names what is not visible yet."""

    def answer(self, target: str, at: str | None) -> dict[str, Any]:
        """Return the answer to what follows the workspace in a URL, as of a date-time, or of now.

        Raises ``ParquetryError``.
        """

    def diff(self, old: str | None, new: str | None) -> dict[str, Any]:
        """Return what changed between two versions; without names, from the version before to the current one.

        Raises ``ParquetryError``.
        """

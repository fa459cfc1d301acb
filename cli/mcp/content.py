"""The questions that the tools ask of content, wherever it is."""

from __future__ import annotations

from typing import Any, Final, Protocol

from snapshots.problems import ParquetryError

SHOWN: Final = 200
"""Entries that a diff names of each API, language and kind of change; it counts them all."""


class NotThere(ParquetryError):
    """The content does not have what was asked for, or does not tell it."""


class Owner(Protocol):
    """What only the owner of a store may know of its workspace: it also tells of what is not published."""

    def scheduled(self, api: str | None, limit: int) -> dict[str, Any]:
        """Return what goes live and ends next, by instant. Raises ``ParquetryError``."""

    def most_viewed(self, days: int, limit: int) -> dict[str, Any]:
        """Return the most viewed entries and paths. Raises ``ParquetryError``."""

    def problems(self) -> dict[str, Any]:
        """Return the problems of the workspace's files. Raises ``ParquetryError``."""

    @property
    def has_files(self) -> bool:
        """Whether the workspace's files are there."""


class ContentSource(Protocol):
    """A workspace that can be asked."""

    workspace: str
    """The workspace's ID."""
    compares: bool
    """Whether ``diff`` may be asked: that of a store is its owner's, as it names what is not visible yet."""
    owner: Owner | None
    """What its owner may ask; ``None`` for whoever reads with a key."""

    def answer(self, target: str, at: str | None) -> dict[str, Any]:
        """Return the answer to what follows the workspace in a URL, as of a date-time, or of now.

        Raises ``ParquetryError``.
        """

    def description(self) -> dict[str, Any] | None:
        """Return the OpenAPI description of what can be read; ``None`` where a server has none.

        Raises ``ParquetryError``.
        """

    def diff(self, old: str | None, new: str | None) -> dict[str, Any]:
        """Return what changed between two versions; without names, from the version before to the current one.

        Raises ``ParquetryError``.
        """

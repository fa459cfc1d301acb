"""The changes in a review, whether two snapshots were compared or a server's answers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from snapshots.compare.compatibility import SchemaChange
    from snapshots.compare.diff import EntryDifference


class ReviewedFileChanges(Protocol):
    """The changes of an API's published language versions, or of its drafts, in one language."""

    @property
    def api(self) -> str:
        """Return the endpoint."""

    @property
    def lang(self) -> str:
        """Return the language."""

    @property
    def draft(self) -> bool:
        """Return whether these are drafts."""

    @property
    def added(self) -> Collection[object]:
        """Return the IDs of added entries, which ``str`` turns into texts."""

    @property
    def removed(self) -> Collection[object]:
        """Return the IDs of removed entries, likewise."""

    @property
    def changed(self) -> int:
        """Return the number of entries that differ."""

    def changes(self) -> Iterator[EntryDifference]:
        """Return their differences."""


class ReviewedChanges(Protocol):
    """The changes from what is published to a workspace under review."""

    @property
    def schema(self) -> Sequence[SchemaChange]:
        """Return the changes of the definitions."""

    @property
    def files(self) -> Sequence[ReviewedFileChanges]:
        """Return the changes of the content."""

    @property
    def added(self) -> int:
        """Return the number of added language versions."""

    @property
    def changed(self) -> int:
        """Return the number of changed language versions."""

    @property
    def removed(self) -> int:
        """Return the number of removed language versions."""

    @property
    def breaking(self) -> int:
        """Return the number of schema changes that break clients."""

    @property
    def same(self) -> bool:
        """Return whether nothing changed."""

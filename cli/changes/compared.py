"""The changes in a review, whether two snapshots were compared or a server's answers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from snapshots.compare.compatibility import SchemaChange
    from snapshots.compare.diff import EntryDifference
    from snapshots.compare.endings import EndedReference
    from snapshots.compare.renames import Place, Rename
    from snapshots.compare.versions import Version


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

    def came(self, most: int = ...) -> Iterator[Version]:
        """Return the first added versions."""

    def went(self, most: int = ...) -> Iterator[Version]:
        """Return the first removed versions."""


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
    def renames(self) -> Sequence[Rename]:
        """Return the renamed entries, whose versions are among the added and the removed ones."""

    def still_there(self, endpoint: str, ids: Sequence[str]) -> Mapping[str, Sequence[Place]]:
        """Return the languages in which entries of an API are there after the change, by ID."""

    def ended(self, gone: Mapping[str, Sequence[str]]) -> Sequence[EndedReference]:
        """Return the first references to entries that are gone: IDs by endpoint."""

    @property
    def same(self) -> bool:
        """Return whether nothing changed."""

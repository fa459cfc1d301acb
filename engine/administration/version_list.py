"""List the versions of a workspace in a store as people see them, the damaged ones too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from snapshots.problems import ParquetryError
from snapshots.store.manifest import Manifest
from snapshots.store.store import WorkspaceStore


class ListedVersion(msgspec.Struct, frozen=True):
    """One version of a list."""

    version: str
    manifest: Manifest | None
    """``None`` where it cannot be read."""
    problem: str | None
    """The reason why it cannot be read."""

    @property
    def bytes(self) -> int:
        """The size of the version's files."""
        return sum(file.bytes for file in self.manifest.files) if self.manifest is not None else 0


def listed_versions(workspace_store: WorkspaceStore, versions: Iterable[str]) -> Iterator[ListedVersion]:
    """Read what lists show of some versions."""
    digests = workspace_store.digests()
    for version in versions:
        try:
            yield ListedVersion(version, workspace_store.manifest(version, digests), None)
        except ParquetryError as error:
            yield ListedVersion(version, None, str(error))

"""List the versions of a workspace in a store as people see them, the damaged ones too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from snapshots.problems import ParquetryError
from snapshots.store.document import DamagedDocument
from snapshots.store.holds.holds import Hold, hold_on
from snapshots.store.manifest import Manifest
from snapshots.store.store import WorkspaceStore


class ListedVersion(msgspec.Struct, frozen=True):
    """One version of a list."""

    version: str
    manifest: Manifest | None
    """``None`` where it cannot be read."""
    problem: str | None
    """The reason why it cannot be read."""
    held: Hold | None = None
    """Who went back from its content, where no build makes it current again."""

    @property
    def bytes(self) -> int:
        """The size of the version's files."""
        return sum(file.bytes for file in self.manifest.files) if self.manifest is not None else 0


def damaged_holds(workspace_store: WorkspaceStore) -> DamagedDocument | None:
    """Return what is wrong with the document of what is held; ``None`` where nothing is."""
    try:
        workspace_store.holds()
    except DamagedDocument as error:
        return error
    return None


def known_holds(workspace_store: WorkspaceStore) -> tuple[Hold, ...]:
    """Return the content that no build makes current again; none where the document of it is damaged, which commands
    say (``damaged_holds``)."""
    try:
        return workspace_store.holds()
    except DamagedDocument:
        return ()


def listed_versions(workspace_store: WorkspaceStore, versions: Iterable[str]) -> Iterator[ListedVersion]:
    """Read what lists show of some versions."""
    digests, holds, current = workspace_store.digests(), known_holds(workspace_store), _current(workspace_store)
    for version in versions:
        try:
            manifest = workspace_store.manifest(version, digests)
            held = None if version == current else hold_on(holds, manifest.content, manifest.known_sources)
            yield ListedVersion(version, manifest, None, held)
        except ParquetryError as error:
            yield ListedVersion(version, None, str(error))


def _current(workspace_store: WorkspaceStore) -> str | None:
    try:
        found = workspace_store.current()
    except DamagedDocument:
        return None
    return None if found is None else found.version

"""Open the parts of a version together; those that are not fit for use are made first (design section 4)."""

from __future__ import annotations

from pathlib import Path

from engine.read.files.files import OpenedVersion, open_version
from engine.read.files.parts import VersionParts
from engine.read.files.paths import CachePaths
from engine.read.files.unusable import CacheUnfit
from engine.read.materialise.materialise import Unfit, materialise
from engine.read.materialise.settings import MaterialiseSettings
from snapshots.store.manifest import Manifest


def opened_version(
    snapshot_dir: Path,
    manifest: Manifest,
    paths: CachePaths,
    parts: VersionParts,
    memory: str,
    settings: MaterialiseSettings,
) -> OpenedVersion:
    """Open a version's ``parts``, which are those of its manifest, as ``open_version`` does; those that cannot be
    opened, for whatever reason, are made again, once.

    Raises ``CacheUnfit`` where they cannot be opened as they were just made, and ``SnapshotUnusable`` where they cannot
    be made.
    """
    opened: OpenedVersion | None = None

    def unfit() -> Unfit:
        nonlocal opened
        try:
            opened = opened or open_version(paths, manifest, parts, memory)
        except CacheUnfit as error:
            return error.parts, error.tables
        return (), ()

    if not paths.version(manifest.version).exists() or any(unfit()):  # what was never listed was hardly ever made
        materialise(snapshot_dir, manifest, paths, parts, settings, unfit)
    return opened or open_version(paths, manifest, parts, memory)

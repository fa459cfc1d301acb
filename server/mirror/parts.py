"""The reader's parts of a mirrored version, fetched where a builder has made them."""

from __future__ import annotations

import logging

from engine.read.files.paths import CachePaths
from engine.read.materialise.shared_parts import fetch_parts
from server.logs import LOGGER
from snapshots.problems import ParquetryError
from snapshots.store.manifest import Manifest
from snapshots.store.objects import Objects

_log = logging.getLogger(LOGGER)


def fetch_made(objects: Objects, manifest: Manifest, paths: CachePaths) -> None:
    """Have the parts of a version in the cache that builders have put into the store. The reader makes the others for
    itself, and keeps them to itself: what it writes, no other machine reads."""
    try:
        fetch_parts(objects, manifest, paths)
    except (ParquetryError, OSError) as error:
        workspace, version = manifest.workspace.id, manifest.version
        _log.warning("%s: cache files of snapshot version %s could not be downloaded: %s", workspace, version, error)

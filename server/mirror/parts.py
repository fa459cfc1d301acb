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
    """Download a version's parts that builders have put into the store into the cache. The reader makes all other
    parts itself and shares them with no other machine. Logs a warning where the download fails."""
    try:
        fetch_parts(objects, manifest, paths)
    except (ParquetryError, OSError) as error:
        workspace, version = manifest.workspace.id, manifest.version
        _log.warning("%s: cache files of snapshot version %s could not be downloaded: %s", workspace, version, error)

"""Find the directories of a store in which page views wait."""

from __future__ import annotations

import time
from pathlib import Path

from engine.views.collecting.spool import SPOOL, VIEWS


def spools(root: Path) -> list[Path]:
    """Return the views directories of a store in which views may be waiting. A directory that cannot be looked at is
    among them: its own writer reports that, and the others go on."""
    return [spool.parent for spool in root.glob(f"*/{VIEWS}/{SPOOL}") if not _is_empty(spool)]


def _is_empty(directory: Path) -> bool:
    try:
        return next(directory.iterdir(), None) is None
    except OSError:
        return False


def waiting_views(views: Path) -> tuple[int, float]:
    """Return the bytes of views that wait in a workspace's views directory, and the seconds since the oldest of them
    was last written to."""
    size = 0
    oldest = now = time.time()
    for segment in (views / SPOOL).glob("*/*.ndjson"):
        try:
            found = segment.stat()
        except OSError:  # it is where it belongs by now, or nobody's to look at
            continue
        if found.st_size:
            size += found.st_size
            oldest = min(oldest, found.st_mtime)
    return size, now - oldest

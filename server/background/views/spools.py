"""Find the directories of a store in which page views wait."""

from __future__ import annotations

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

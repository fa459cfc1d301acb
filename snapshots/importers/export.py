"""An export to read, and what goes with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from snapshots.importers.copies import Copies
from snapshots.importers.losses import Losses
from snapshots.importers.model import Imported


class Export(msgspec.Struct):
    """The export of another CMS. Its reader adds to ``losses``, and copies files where ``copies`` are wanted."""

    path: Path
    """A file or a folder."""
    work: Path
    """A folder for what is extracted; removed after the import."""
    losses: Losses
    copies: Copies
    language: str | None = None
    """The main language, where the export names none."""
    api: str | None = None
    """The endpoint of the API that the export becomes, where it is one table."""
    sheet: str | None = None
    """The sheet of a workbook to read, and no others."""


Reader = Callable[[Export], Imported]
"""Reads the content of an export. Raises ``Unreadable``."""

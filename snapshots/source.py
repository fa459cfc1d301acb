"""A workspace directory → the files that hold its entry versions, each with what its path says (workspace-format, "Sources")."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from snapshots.definitions import Definitions
from snapshots.documents import Format as Format
from snapshots.problems import Problems

MAX_FILE_BYTES = 64 * 1024 * 1024
"""A file that is parsed as a whole may have this many bytes; JSONL is read line by line and may have any number."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as the source of one API's versions; a file that feeds several APIs appears once for each."""

    path: str
    """Relative to the workspace, with forward slashes."""
    api: str
    """The API's ``uid``."""
    format: Format
    size: int
    mtime_ns: int
    inode: int
    lang: str | None
    """The language its path gives, as the workspace spells it."""
    id: str | None
    """The ID its path gives, unchecked; ``None`` for files that hold many versions by their nature."""
    draft: bool
    """True for the unpublished changes of a version (``.draft`` before the extension)."""
    parts: dict[str, str] = field(default_factory=dict)
    """The pattern's named parts, and ``name``."""


def scan(root: Path, definitions: Definitions, problems: Problems) -> list[SourceFile]:
    """The files of all APIs, sorted by path, then by the order of the APIs."""
    raise ImportError("being written")

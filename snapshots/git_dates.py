"""A git checkout's history → the first and last commit date of every file (decision 23)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class GitDates:
    """When files were first and last committed, as of one commit."""

    head: str
    """The commit's full hash."""
    dates: dict[str, tuple[int, int]]
    """Path relative to the workspace → (first, last) committer date, UTC milliseconds."""
    shallow: bool = False
    """True for a shallow clone: the history is cut, so first dates are not to be trusted."""


def head_commit(root: Path) -> str | None:
    """The full hash of the commit checked out at ``root``; ``None`` where there is no git or no commit."""
    raise ImportError("being written")


def git_dates(root: Path, cached: GitDates | None) -> GitDates | None:
    """The dates of all files below ``root``; ``None`` where there is no git or no commit."""
    raise ImportError("being written")

"""Ask git for the commit that a version is built from: its first line, its author and its time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from snapshots.control_characters import CONTROL
from snapshots.sources.git_dates import git_answer
from snapshots.store.manifest import Commit

LONGEST_SUBJECT: Final = 200
LONGEST_AUTHOR: Final = 100
"""Characters that are kept."""
_FORMAT: Final = "--format=%an%x00%ct%x00%s"


def described_commit(root: Path, commit: str) -> Commit | None:
    """Return what git says of a commit, and whether the files below ``root`` differ from it; ``None`` where git does
    not answer."""
    said = git_answer(root, "log", "-1", "--encoding=UTF-8", _FORMAT, commit, "--")
    if said is None:
        return None
    try:
        author, at, subject = os.fsencode(said).decode(errors="replace").rstrip("\n").split("\0")
        moment = int(at) * 1000
    except ValueError:
        return None
    differs = git_answer(root, "status", "--porcelain", "--ignore-submodules=all", "--", ".")
    return Commit(_shown(subject, LONGEST_SUBJECT), _shown(author, LONGEST_AUTHOR), moment, differs=bool(differs))


def commit_sentence(head: str | None, commit: Commit | None) -> str:
    """Return who wrote the content of a version, for the audit log, after a space; empty where it is not known."""
    if head is None or commit is None:
        return ""
    differs = ", and changes that are not committed" if commit.differs else ""
    return f" Commit {head[:10]} by {commit.author}: {commit.subject}{differs}"


def _shown(text: str, longest: int) -> str:
    """Return a text on one line, without what a terminal would obey, and not longer than asked for."""
    plain = " ".join(CONTROL.sub(" ", text).split())
    return plain if len(plain) <= longest else f"{plain[: longest - 1]}…"

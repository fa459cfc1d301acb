"""Find the files of a shallow clone whose first commit is not there, so that git has a later date for them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from snapshots.sources.git_dates import git_command, git_environment


def cut_off_files(root: Path) -> frozenset[str]:
    """Return the files of a shallow clone that its oldest commits have already, by their paths relative to ``root``.

    They are as old as those commits, or older. None for a whole clone, and where git does not answer.
    """
    place = _said(root, "rev-parse", "--git-path", "shallow")
    try:
        oldest = (root / os.fsdecode(place.strip())).read_text(encoding="ascii").split() if place else []
    except (OSError, UnicodeDecodeError):
        return frozenset()
    found: set[str] = set()
    for commit in oldest:
        found.update(os.fsdecode(_said(root, "ls-tree", "-r", "-z", "--name-only", commit, "--", ".")).split("\0"))
    return frozenset(found - {""})


def _said(root: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(
            git_command(root, *arguments),
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=git_environment(),
        )
    except OSError:
        return b""
    return done.stdout if done.returncode == 0 else b""

"""Find the files of a shallow clone whose first commit is not there, so that git has a later date for them."""

from __future__ import annotations

from pathlib import Path

from snapshots.sources.git_dates import git_answer


def cut_off_files(root: Path) -> frozenset[str]:
    """Return the files of a shallow clone that its oldest commits have already, by their paths relative to ``root``.

    They are as old as those commits, or older. None for a whole clone, and where git does not answer.
    """
    place = git_answer(root, "rev-parse", "--git-path", "shallow")
    try:
        oldest = (root / place.strip()).read_text(encoding="ascii").split() if place else []
    except (OSError, UnicodeDecodeError):
        return frozenset()
    found: set[str] = set()
    for commit in oldest:
        listed = git_answer(root, "ls-tree", "-r", "-z", "--name-only", commit, "--", ".")
        found.update((listed or "").split("\0"))
    return frozenset(found - {""})

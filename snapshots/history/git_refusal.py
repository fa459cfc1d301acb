"""Find out why git tells nothing of a checkout's history, and what to do about it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Final

from snapshots.sources.git_dates import git_command, git_environment

NO_HISTORY: Final = "no-history"
"""The kind of problem of a checkout of which git tells nothing."""
_NOTHING_YET = b"does not have any commits yet"
_OTHER_OWNER = re.compile(r"detected dubious ownership in repository at '(.*)'")


def git_refusal(root: Path) -> str | None:
    """Return the reason, with what to do, as a sentence without its point; ``None`` where ``root`` is in no checkout,
    in one without a commit, or in one of which git tells everything."""
    if not any((folder / ".git").exists() for folder in (root, *root.parents)):
        return None
    try:
        asked = subprocess.run(
            git_command(root, "log", "--format=", "--name-status", "--", "."),
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=git_environment(),
        )
    except OSError:
        return "git is not installed here, or cannot be run. Install it"
    if asked.returncode == 0 or _NOTHING_YET in asked.stderr:
        return None
    said = asked.stderr.decode(errors="replace").splitlines() or [f"it ended with status {asked.returncode}"]
    reason = next((line for line in said if line.startswith("fatal: ")), said[0]).removeprefix("fatal: ").rstrip(". ")
    owner = _OTHER_OWNER.search(reason)
    if owner is None:
        return f"git says: {reason}"
    return (
        f"git says: {reason}. Build as the user who owns the folder, or trust it with "
        f"`git config --global --add safe.directory {owner[1]}`"
    )

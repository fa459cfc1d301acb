"""Git, where the command runs in a workspace's files: dates come from it."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from typing import Final

from server.doctor.finding import Case, Finding
from snapshots.history.git_refusal import git_refusal
from snapshots.history.git_shallow import cut_off_files

SUBJECT: Final = "git"
_WHY: Final = (
    "Dates that content does not give itself come from git; without it, a build publishes none, or other ones."
)


def look(case: Case) -> Iterator[Finding]:
    """Ask git for the history of the workspace's files."""
    if case.checkout is None:
        return
    if shutil.which("git", path=case.environment.get("PATH")) is None:
        yield Finding(SUBJECT, True, "git is not installed here.", _WHY, "apt-get install git")
        return
    refusal = git_refusal(case.checkout)
    folder = shlex.quote(str(case.checkout))
    if refusal is not None:
        yield Finding(
            SUBJECT, True, f"{refusal}.", _WHY, f"git -C {folder} log -1    # says the same until it is mended"
        )
    elif cut_off_files(case.checkout):
        yield Finding(
            SUBJECT,
            True,
            f"{case.checkout} is a shallow clone, in which the beginning of the history is missing.",
            "Files of before have the date of the oldest commit that is there, so the order of lists changes.",
            f"git -C {folder} fetch --unshallow",
        )

"""Processes that stand still until they are told to go on, and processes that have ended."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.sites.served_site import eventually


def halt(pid: int) -> None:
    """Send SIGSTOP, and return once every thread stands still: the one that gets the signal tells the others, and on a
    busy machine they go on until it has its turn."""
    os.kill(pid, signal.SIGSTOP)
    eventually(lambda: all(_stands_still(thread) for thread in Path(f"/proc/{pid}/task").iterdir()))


def has_ended(pid: int | str) -> bool:
    """Whether a process has ended, be it that its parent has not asked for its end yet."""
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True


def _stands_still(thread: Path) -> bool:
    try:
        return (thread / "stat").read_text().rpartition(")")[2].split()[0] in "TtZX"
    except OSError:  # it has ended
        return True

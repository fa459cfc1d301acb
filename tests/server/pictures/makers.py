"""The processes that make pictures, seen from outside."""

from __future__ import annotations

import os
from pathlib import Path


def makers(parent: int | None = None) -> list[int]:
    """The IDs of those that a process started, by default this one."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, started_by = status.read_text().rpartition(")")[2].split()[:2]
            command = (status.parent / "cmdline").read_bytes()
        except OSError:  # it has ended
            continue
        if int(started_by) == (parent or os.getpid()) and b"server.pictures.maker" in command and state != "Z":
            found.append(int(status.parent.name))
    return found


def most_memory(process: int) -> int:
    """The most bytes that a process had in memory; 0 for one that has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)

"""How the machine itself is: room on its disks, and memory."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

LEAST_FREE: Final = 1 << 30
"""Bytes that are enough on any disk."""
LEAST_FREE_SHARE: Final = 0.1
LEAST_MEMORY_SHARE: Final = 0.05
_GROUPS: Final = Path("/sys/fs/cgroup")
_OWN: Final = Path("/proc/self/cgroup")
_MACHINE: Final = Path("/proc/meminfo")


def disk_is_short(path: Path) -> bool:
    """Return whether the disk of a directory is nearly full; one that cannot be looked at is not."""
    try:
        found = shutil.disk_usage(path)
    except OSError:
        return False
    return found.free < min(LEAST_FREE, LEAST_FREE_SHARE * found.total)


def memory_is_short(machine: Path = _MACHINE, groups: Path = _GROUPS, own: Path = _OWN) -> bool:
    """Return whether little of the memory is left, of the machine or of a control group that this process is in, as
    the one of a container or of a unit with ``MemoryMax``.

    ``machine`` is Linux's account of the memory, ``groups`` the folder of all control groups (version 2), and ``own``
    tells which of them this process is in; elsewhere nothing is known.
    """
    with suppress(OSError, ValueError, KeyError):
        lines = (line.split() for line in machine.read_text(encoding="ascii").splitlines())
        told = {line[0]: int(line[1]) for line in lines if len(line) > 1}
        if told["MemAvailable:"] < LEAST_MEMORY_SHARE * told["MemTotal:"]:
            return True
    return any(map(_group_is_short, _own_groups(groups, own)))


def _own_groups(groups: Path, own: Path) -> list[Path]:
    """Return the folders of the control groups that this process is in, the outermost last."""
    with suppress(OSError):
        for line in own.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
            if line.startswith("0::/"):
                inner = groups / line.removeprefix("0::/")
                return [inner, *(one for one in inner.parents if one == groups or groups in one.parents)]
    return []


def _group_is_short(group: Path) -> bool:
    with suppress(OSError, ValueError, KeyError):
        most = int((group / "memory.max").read_text(encoding="ascii"))  # "max" where there is no limit
        used = int((group / "memory.current").read_text(encoding="ascii"))
        rows = (line.split() for line in (group / "memory.stat").read_text(encoding="ascii").splitlines())
        files = {row[0]: int(row[1]) for row in rows}["inactive_file"]  # given back when it is needed
        return most - (used - files) < LEAST_MEMORY_SHARE * most
    return False

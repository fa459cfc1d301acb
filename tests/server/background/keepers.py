"""The keepers of servers that tests run."""

from __future__ import annotations

import os
from pathlib import Path

from server.background.keeper import NAME, NICENESS
from tests.sites.served_site import Running, eventually


def keepers_of(server: Running) -> set[int]:
    """The process IDs of the keepers that a server has: one, or none for a moment."""
    children = Path(f"/proc/{server.process.pid}/task").glob("*/children")
    return {int(pid) for of_thread in children for pid in of_thread.read_text().split() if _name(pid) == NAME}


def keeper_of(server: Running) -> int:
    """The process ID of the keeper of a server, once it has one."""
    found: set[int] = set()
    eventually(lambda: found.update(keepers_of(server)) or found)
    [one] = found
    return one


def is_kept(server: Running) -> bool:
    """Whether a server says that its machine has a keeper at work."""
    return bool(server.get("/readyz").json["keeper"]["running"])


def stands_back(keeper: int) -> bool:
    """Whether a keeper has its lower priority, below that of the tests themselves."""
    return os.getpriority(os.PRIO_PROCESS, keeper) == min(os.getpriority(os.PRIO_PROCESS, 0) + NICENESS, 19)


def _name(pid: str) -> str | None:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:  # it has ended
        return None

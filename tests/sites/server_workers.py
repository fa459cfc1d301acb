"""The workers of a server that tests run: looked up, and asked one by one."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from tests.programs.copied_children import SPAWNED
from tests.sites.halting import halt
from tests.sites.served_site import Running

Told = TypeVar("Told")


def workers_of(server: Running) -> set[int]:
    """The process IDs of a server's workers."""
    found = set()
    for pid in Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split():
        with contextlib.suppress(OSError):
            process = Path(f"/proc/{pid}")
            copied = (process / "comm").read_text().strip() == SPAWNED
            if copied or b"spawn_main" in (process / "cmdline").read_bytes():
                found.add(int(pid))
    return found


def told_by_each(server: Running, ask: Callable[[], Told]) -> list[Told]:
    """What ``ask`` returns for each of several workers, while the others are halted and cannot answer for it.

    However many requests are made, all may reach the same one otherwise. Whatever is halted is so for one question
    only: the server replaces a worker that answers nothing for half a minute.
    """
    if sys.platform != "linux":
        pytest.skip("looks the workers up in /proc")
    workers = workers_of(server)
    assert len(workers) > 1
    told = []
    for worker in sorted(workers):
        for other in workers - {worker}:
            halt(other)
        try:
            told.append(ask())
        finally:
            for other in workers - {worker}:
                os.kill(other, signal.SIGCONT)
    return told


def answers(server: Running) -> bool:
    """Whether the server takes connections, and answers."""
    try:
        return server.get("/healthz").status == 200
    except OSError:
        return False

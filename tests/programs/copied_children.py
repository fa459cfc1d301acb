"""The processes that a copied process starts by ``multiprocessing``, without half a second of imports for each.

A copied process keeps a copy of itself from before it ran anything. Whenever ``multiprocessing`` is to start a Python
from nothing, that copy makes another one instead, with the files, environment, directory and limits that the started
one would have; the kernel then gives it to the process that started it as its child. Linux only.
"""

from __future__ import annotations

import ctypes
import json
import multiprocessing.util
import os
import resource
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

SPAWNED = "spawn_main"
"""The name in ``/proc`` of what the main thread has started; what another thread has started has that one's."""

_TRACKER = "tracker"
"""The name of the process that ``multiprocessing`` starts beside the first, to clear up after all."""
_ONE_MESSAGE = 1 << 20
_MOST_FILES = 200
_PR_SET_CHILD_SUBREAPER = 36
_LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]
_from_nothing = multiprocessing.util.spawnv_passfds
_one_at_a_time = threading.Lock()


def copy_children() -> str | None:
    """Called in a process with one thread, which has run nothing yet. Returns ``None`` there, and in each copy that is
    made for a child the program to run."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    parent = os.getpid()
    if os.fork():
        theirs.close()

        def spawned(path: str, arguments: Sequence[str], files: Sequence[int]) -> int:
            order = {
                "arguments": [*map(os.fsdecode, arguments)],
                "files": [0, 1, 2, *map(int, files)],
                "parent": parent,
            }
            if "-c" in order["arguments"]:
                with suppress(OSError):  # what copies was killed, with the group of its parent
                    return _copied(ours, order)
            return int(_from_nothing(path, arguments, files))

        multiprocessing.util.spawnv_passfds = spawned
        return None
    ours.close()
    _name("copied_process")
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        order, files, _, _ = socket.recv_fds(theirs, _ONE_MESSAGE, _MOST_FILES)
        if not order:
            os._exit(0)
        told, tell = os.pipe()
        if between := os.fork():
            for one in (*files, tell):
                os.close(one)
            os.waitpid(between, 0)  # from then on the copy is its grandparent's child
            theirs.send(os.read(told, 32))
            os.close(told)
        elif pid := os.fork():
            os.write(tell, b"%d" % pid)
            os._exit(0)
        else:
            theirs.detach()
            signal.signal(signal.SIGINT, interrupt)
            return _become(json.loads(order), files)


def _copied(copier: socket.socket, order: dict[str, Any]) -> int:
    """Have a child made: its process ID."""
    thread = threading.current_thread()
    name = SPAWNED if thread is threading.main_thread() else thread.name
    order |= {
        "name": name if "--multiprocessing-fork" in order["arguments"] else _TRACKER,
        "environment": dict(os.environ),
        "directory": str(Path.cwd()),
        "umask": int(Path("/proc/self/status").read_text().partition("Umask:")[2].split()[0], 8),
        "limits": [resource.getrlimit(limit) for limit in _LIMITS],
    }
    prctl = ctypes.CDLL(None).prctl
    with _one_at_a_time:
        prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            socket.send_fds(copier, [json.dumps(order).encode()], order["files"])
            answer = copier.recv(32)
        finally:
            prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    if not answer:
        raise BrokenPipeError
    return int(answer)


def _become(order: dict[str, Any], files: Sequence[int]) -> str:
    """Take over what a child has from its parent: the program to run."""
    import fcntl

    wanted = order["files"]
    beyond = max(*wanted, *files) + 1
    moved = [fcntl.fcntl(one, fcntl.F_DUPFD, beyond) for one in files]
    os.closerange(0, beyond)
    for one, number in zip(moved, wanted, strict=True):
        os.dup2(one, number)
    os.closerange(beyond, max(moved) + 1)
    for limit, values in zip(_LIMITS, order["limits"], strict=True):
        resource.setrlimit(limit, values)
    os.umask(order["umask"])
    os.chdir(order["directory"])
    os.environ.clear()
    os.environ.update(order["environment"])
    _name(order["name"])
    while os.getppid() != order["parent"] and _is_there(order["parent"]):
        os.sched_yield()
    arguments = order["arguments"]
    where = arguments.index("-c")
    sys.argv[:] = ["-c", *arguments[where + 2 :]]
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    return str(arguments[where + 1])


def _is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def _name(name: str) -> None:
    Path("/proc/self/comm").write_text(name[:15], encoding="ascii")

"""A process that a server or worker started: it ends when it is told to, and with whoever started it."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Callable
from multiprocessing.process import BaseProcess

NICENESS = 10
"""The niceness of a process beside the workers: it shares the processors with the answers."""


def until_told(when_left: Callable[[], object] | None = None) -> threading.Event:
    """Return an event that is set by SIGTERM, and at the end of the process that started this one, where there is no
    ``when_left`` to be called then."""
    stopping = threading.Event()
    # The terminal's Ctrl-C and its end are for the server, which tells this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    parent = multiprocessing.parent_process()
    if parent is not None:
        left = stopping.set if when_left is None else when_left
        threading.Thread(target=_call_after, args=(parent, left), name="end-with-parent", daemon=True).start()
    return stopping


def _call_after(parent: BaseProcess, left: Callable[[], object]) -> None:
    parent.join()
    left()

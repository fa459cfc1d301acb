"""The priority of work beside the answers: the processors go on with answers first."""

from __future__ import annotations

import os
from contextlib import suppress


def stand_back(niceness: int = 0) -> None:
    """Make the calling thread, and the threads it starts from now on, interrupt no other thread when they wake up.

    Otherwise the event loop often stops in the middle of an answer when it hands work to a thread. With a ``niceness``
    of 0 the thread gets no less of the processors. Linux only; elsewhere just the niceness, of the whole process.
    """
    if niceness:
        os.nice(niceness)
    if hasattr(os, "SCHED_BATCH"):
        with suppress(OSError):  # a sandbox may forbid it
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))

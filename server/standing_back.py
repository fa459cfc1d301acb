"""Work beside the answers, and how it stands back behind them: which of both a processor goes on with."""

from __future__ import annotations

import os
from contextlib import suppress


def stand_back(niceness: int = 0) -> None:
    """Let the calling thread, and what it starts from now on, interrupt nobody when what it waited for is there.

    Without that the event loop often stops in the middle of an answer when it hands something to a thread. It gets no
    less of the processors where ``niceness`` is 0. Linux only; elsewhere just the niceness, that of the whole process.
    """
    if niceness:
        os.nice(niceness)
    if hasattr(os, "SCHED_BATCH"):
        with suppress(OSError):  # a sandbox may forbid it
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))

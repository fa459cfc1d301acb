"""A clock that no setting of the calendar's clock changes, and the jumps of the other one against it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

JUMP_MS: Final = 5_000
"""Milliseconds by which the clock has jumped where it was not the usual correction by a time service."""
STEADY_MS: Final = 100
"""Milliseconds between two readings of the steady clock, around one of the other, after which the latter says nothing:
the process was interrupted."""
_BOOT: Final = getattr(time, "CLOCK_BOOTTIME", None)


def steady_ms() -> int:
    """Return the milliseconds since this machine started, those in which it slept included: the same for all its
    processes."""
    nanoseconds = time.monotonic_ns() if _BOOT is None else time.clock_gettime_ns(_BOOT)
    return nanoseconds // 1_000_000


class ClockWatch:
    """Compares two clocks at each look. Used by one thread."""

    def __init__(self, clock: Callable[[], int], steady: Callable[[], int]) -> None:
        self._clock = clock
        self._steady = steady
        self._ahead: int | None = None

    def jump(self) -> int | None:
        """Return the milliseconds by which the clock was set forward (more than 0) or back since the last look;
        ``None`` where it was not."""
        before = self._steady()
        now = self._clock()
        if self._steady() - before > STEADY_MS:
            return None
        known, self._ahead = self._ahead, now - before
        jumped = 0 if known is None else self._ahead - known
        return jumped if abs(jumped) > JUMP_MS else None

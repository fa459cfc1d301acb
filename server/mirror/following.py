"""A mirror kept up to date: a poll a second, whatever stands in its way."""

from __future__ import annotations

import time
from threading import Event

from server.mirror.mirror import POLL_SECONDS, Mirror
from server.processes.repeating import repeat


def follow(mirror: Mirror, stopping: Event) -> None:
    """Poll until ``stopping`` is set, and then wait for pulls under way."""
    due = time.monotonic()

    def poll() -> float:
        nonlocal due
        # At a fixed rate, but without making up for polls that an outage has held up.
        due = max(due + POLL_SECONDS, time.monotonic())
        mirror.poll()
        return max(0.0, due - time.monotonic())

    repeat(poll, POLL_SECONDS, stopping, trouble="the mirror cannot be kept: %s")
    mirror.stop()

"""A process that follows the store and hangs, or cannot write its page → a line in the log, and one when it goes on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from server.logs import LOGGER
from server.mirror.behind import ALL, COUNTS
from server.mirror.freshness import Freshness
from snapshots.times import format_datetime

LOOK_SECONDS: Final = 1.0
_PROCESSES: Final = {ALL: "the mirror", COUNTS: "the process of page views"}

_log = logging.getLogger(LOGGER)


@contextmanager
def silence_told(freshness: Freshness) -> Iterator[None]:
    """Look during the block whether the processes of this machine go on: what hangs cannot say so itself."""
    ended = threading.Event()

    def watch() -> None:
        before: set[str] = set()
        while not ended.wait(LOOK_SECONDS):
            silent = freshness.silent()
            for what in sorted(silent.keys() - before):
                _log.error(
                    "%s has not gone on since %s: it hangs, waits for the store or cannot write in the cache",
                    _PROCESSES[what],
                    format_datetime(silent[what]),
                )
            for what in sorted(before - silent.keys()):
                _log.info("%s goes on again", _PROCESSES[what])
            before = set(silent)

    thread = threading.Thread(target=watch, name="watch-mirror", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()

"""Log that a keeper hangs or cannot write its pages, and when it goes on."""

from __future__ import annotations

import logging
from typing import Final

from server.logs import LOGGER
from server.mirror.behind import ALL, COUNTS
from server.mirror.freshness import Freshness
from snapshots.times import format_datetime

_WORK: Final = {ALL: "the mirror", COUNTS: "the sending of page views"}

_log = logging.getLogger(LOGGER)


class Silence:
    """Logs which work of the keeper has stopped. Used by one thread of another process: a process that hangs cannot
    log that it does."""

    def __init__(self, freshness: Freshness) -> None:
        self._freshness = freshness
        self._told: set[str] = set()

    def tell(self) -> None:
        """Log the work that has stopped or gone on again since the last call."""
        silent = self._freshness.silent()
        for what in sorted(silent.keys() - self._told):
            _log.error(
                "%s has not gone on since %s: it hangs, waits for the store or cannot write in the cache",
                _WORK[what],
                format_datetime(silent[what]),
            )
        for what in sorted(self._told - silent.keys()):
            _log.info("%s goes on again", _WORK[what])
        self._told = set(silent)

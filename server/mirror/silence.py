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
    """What of the keeper's work has not gone on. Used by one thread of another process: what hangs cannot say so."""

    def __init__(self, freshness: Freshness) -> None:
        self._freshness = freshness
        self._told: set[str] = set()

    def tell(self) -> None:
        """Log what has begun or ended to be silent since the last time."""
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

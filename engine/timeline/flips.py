"""Flips: the instants at which what is live changes by schedule. Between two of them nothing does (an *epoch*)."""

from __future__ import annotations

import msgspec
import numpy as np

from engine.timeline.windows import Ints
from snapshots.model import ALWAYS, NEVER


class Epoch(msgspec.Struct, frozen=True):
    """A stretch of time in which nothing about visibility changes."""

    since: int
    """UTC milliseconds, included."""
    until: int
    """UTC milliseconds, excluded."""


class Flips:
    """Instants in UTC milliseconds, ascending."""

    def __init__(self, instants: Ints) -> None:
        """Take the instants in any order."""
        self._instants = np.unique(instants)
        self._latest = Epoch(NEVER, NEVER)

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return int(self._instants.nbytes)

    def last(self, after: int, until: int) -> int | None:
        """Return the last flip after an instant, until another (included); ``None`` for none."""
        since = self.epoch(until).since
        return since if since > max(after, ALWAYS) else None

    def next(self, after: int) -> int | None:
        """Return the first flip after an instant; ``None`` for none."""
        until = self.epoch(after).until
        return until if until < NEVER else None

    def epoch(self, now: int) -> Epoch:
        """Return the epoch that an instant is in."""
        epoch = self._latest  # most requests are in the epoch of the one before
        if not epoch.since <= now < epoch.until:
            at = int(np.searchsorted(self._instants, now, side="right"))
            since = int(self._instants[at - 1]) if at else ALWAYS
            epoch = self._latest = Epoch(since, int(self._instants[at]) if at < len(self._instants) else NEVER)
        return epoch

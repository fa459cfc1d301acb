"""The live windows of rows: which of them are live at an instant, and the instants at which that changes."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
import numpy as np

from engine.visibility import is_live, is_scheduled
from snapshots.model import ALWAYS, NEVER

Ints: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
Marks: TypeAlias = "np.ndarray[Any, np.dtype[np.bool_]]"
"""One truth value a row."""


class Windows(msgspec.Struct, frozen=True):
    """The live windows of rows, UTC milliseconds."""

    live_from: Ints
    live_until: Ints

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return int(self.live_from.nbytes + self.live_until.nbytes)

    @property
    def are_bounded(self) -> Marks:
        """Whether each window has a beginning or an end."""
        bounded: Marks = (self.live_from != ALWAYS) | (self.live_until != NEVER)
        return bounded

    @property
    def begin(self) -> Marks:
        """Whether each row goes live at the beginning of its window; one that ends before it begins never does."""
        begins: Marks = (self.live_from > ALWAYS) & (self.live_from < self.live_until)
        return begins

    @property
    def end(self) -> Marks:
        """Whether each row ceases to be live at the end of its window."""
        ends: Marks = (self.live_until < NEVER) & (self.live_from < self.live_until)
        return ends

    def take(self, rows: Ints | Marks) -> Windows:
        """Return the windows of some rows, by position or by truth value."""
        return Windows(self.live_from[rows], self.live_until[rows])

    def take_or_never(self, rows: Ints) -> Windows:
        """Return the windows of some rows by position; for the position -1, a window that is never live."""
        if not len(self.live_from):
            return Windows(np.full(len(rows), NEVER), np.full(len(rows), ALWAYS))
        found, missing = self.take(rows), rows < 0
        return Windows(np.where(missing, NEVER, found.live_from), np.where(missing, ALWAYS, found.live_until))

    def are_live(self, now: int | Ints) -> Marks:
        """Whether each row is live at an instant, UTC milliseconds: one for all, or one for each."""
        return is_live(self.live_from, self.live_until, now)

    def are_scheduled(self, now: int) -> Marks:
        """Whether each row is not live yet at an instant."""
        return is_scheduled(self.live_from, now)

    def flips(self) -> Ints:
        """Return the instants at which a row goes live or ceases to be live, in no order."""
        return np.concatenate([self.live_from[self.begin], self.live_until[self.end]])

    def flips_before(self, other: Windows) -> Ints:
        """Return the instants at which what is delivered changes where these rows are preferred, each to the row of
        ``other`` at its position, which stands in while it is not live. In no order, and some more than once."""

        def stands_in(at: Ints) -> Marks:
            return other.are_live(at) & ~self.are_live(at)

        bounds = (self.live_from, self.live_until, other.live_from, other.live_until)
        flips = (at[(stands_in(at) != stands_in(at - 1)) & (at > ALWAYS) & (at < NEVER)] for at in bounds)
        return np.concatenate([self.flips(), *flips])

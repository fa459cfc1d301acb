"""The schedule of an API under a language rule: when which of its entries comes, goes or changes its language.

It follows from the live windows of the rows alone. Between two flips nothing about visibility changes (an *epoch*).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec
import numpy as np

from engine.read.reader.rows import LanguageWindows, Rows
from engine.visibility import Visibility, is_live
from snapshots.model import ALWAYS, NEVER

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class Epoch(msgspec.Struct, frozen=True):
    """A stretch of time in which nothing about an API's visibility in a language changes."""

    since: int
    """UTC milliseconds, included."""
    until: int
    """UTC milliseconds, excluded."""


class Schedule:
    """The flips of an API: the instants at which a row becomes what requests get of its entry, or ceases to be it."""

    def __init__(self, instants: Array) -> None:
        """Take the instants (UTC milliseconds), in any order."""
        self._instants = np.unique(instants)

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return int(self._instants.nbytes)

    def epoch(self, now: int) -> Epoch:
        """Return the epoch that ``now`` (UTC milliseconds) is in."""
        at = int(np.searchsorted(self._instants, now, side="right"))
        since = int(self._instants[at - 1]) if at else ALWAYS
        return Epoch(since, int(self._instants[at]) if at < len(self._instants) else NEVER)


def schedule_of(rows: Rows, visibility: Visibility) -> Schedule:
    """Return the schedule of an API's rows under a language rule."""
    chosen = rows.windows(visibility.lang)
    if visibility.fallback is None:
        return Schedule(_flips(chosen))
    other = rows.windows(visibility.fallback)
    numbers = np.union1d(chosen.numbers[chosen.are_bounded], other.numbers[other.are_bounded])
    return Schedule(np.concatenate(list(_flips_of_both(chosen.of_entries(numbers), other.of_entries(numbers)))))


def _flips(windows: LanguageWindows) -> Array:
    """Return the flips of rows that are what requests get while they are live."""
    begin, end = windows.live_from, windows.live_until
    is_ever_live = begin < end
    flips: Array = np.concatenate([begin[is_ever_live & (begin > ALWAYS)], end[is_ever_live & (end < NEVER)]])
    return flips


def _flips_of_both(chosen: LanguageWindows, other: LanguageWindows) -> Iterator[Array]:
    """Return the flips of the same entries in two languages, of which the other stands in while the chosen one is not
    live."""
    yield _flips(chosen)

    def stands_in(at: Array) -> Array:
        return is_live(other.live_from, other.live_until, at) & ~is_live(chosen.live_from, chosen.live_until, at)

    for at in (chosen.live_from, chosen.live_until, other.live_from, other.live_until):
        yield at[(stands_in(at) != stands_in(at - 1)) & (at > ALWAYS) & (at < NEVER)]

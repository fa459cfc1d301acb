"""The schedule of an API under a language rule: when which of its entries comes, goes or changes its language.

It follows from the live windows of the rows alone. Between two flips nothing about visibility changes (an *epoch*).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np

from engine.reader.rows import LanguageWindows, Rows
from engine.visibility import Visibility, is_live
from snapshots.model import ALWAYS, NEVER

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Flips: TypeAlias = tuple[Array, Array, Array]
"""The instant (UTC milliseconds), row and entry number of each flip."""

_FIRST_LOOK: Final = 1024
"""Flips that are looked at first for the next of a set of rows, which is most often among them."""


class Epoch(msgspec.Struct, frozen=True):
    """A stretch of time in which nothing about an API's visibility in a language changes."""

    since: int
    """UTC milliseconds, included."""
    until: int
    """UTC milliseconds, excluded."""


class Schedule:
    """The flips of an API: the instants at which a row becomes what requests get of its entry, or ceases to be it."""

    def __init__(self, instants: Array, rows: Array, numbers: Array) -> None:
        """Take one instant (UTC milliseconds), row and entry number a flip, in any order."""
        by_time = np.argsort(instants, kind="stable")
        self._instants = instants[by_time]
        self._rows = rows[by_time]
        by_entry = np.lexsort((instants, numbers))
        self._numbers = numbers[by_entry]
        self._instants_of = instants[by_entry]

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return sum(one.nbytes for one in (self._instants, self._rows, self._numbers, self._instants_of))

    def epoch(self, now: int) -> Epoch:
        """Return the epoch that ``now`` (UTC milliseconds) is in."""
        at = self._after(now)
        since = int(self._instants[at - 1]) if at else ALWAYS
        return Epoch(since, int(self._instants[at]) if at < len(self._instants) else NEVER)

    def next(self, now: int) -> int:
        """Return the first flip after ``now``, ``NEVER`` for none. All are UTC milliseconds."""
        return self.epoch(now).until

    def next_among(self, marks: Array, now: int) -> int:
        """Return the first flip after ``now`` of a row that is marked, ``NEVER`` for none; ``marks`` has one truth
        value a row."""
        begin, size = self._after(now), _FIRST_LOOK
        while begin < len(self._instants):
            found = np.flatnonzero(marks[self._rows[begin : begin + size]])
            if len(found):
                return int(self._instants[begin + found[0]])
            begin, size = begin + size, size * 8
        return NEVER

    def next_of(self, numbers: Collection[int], now: int) -> int:
        """Return the first flip after ``now`` of one of these entries, named by number; ``NEVER`` for none."""
        if not len(self._instants) or not numbers:
            return NEVER
        wanted = np.fromiter(numbers, np.uint64, len(numbers))
        begins = np.searchsorted(self._numbers, wanted, side="left")
        ends = np.searchsorted(self._numbers, wanted, side="right")
        first = NEVER
        for at in np.flatnonzero(begins < ends):
            flips = self._instants_of[begins[at] : ends[at]]
            place = np.searchsorted(flips, now, side="right")
            if place < len(flips):
                first = min(first, int(flips[place]))
        return first

    def _after(self, now: int) -> int:
        return int(np.searchsorted(self._instants, now, side="right"))


def schedule_of(rows: Rows, visibility: Visibility) -> Schedule:
    """Return the schedule of an API's rows under a language rule."""
    chosen = rows.windows(visibility.lang)
    if visibility.fallback is None:
        return _schedule([_flips(chosen.take(chosen.are_bounded))])
    other = rows.windows(visibility.fallback)
    numbers = np.union1d(chosen.numbers[chosen.are_bounded], other.numbers[other.are_bounded])
    return _schedule(list(_flips_of_both(chosen.of_entries(numbers), other.of_entries(numbers))))


def _flips(windows: LanguageWindows) -> Flips:
    """Return the flips of rows that are what requests get while they are live."""
    begin, end = windows.live_from, windows.live_until
    is_ever_live = begin < end
    begins, ends = is_ever_live & (begin > ALWAYS), is_ever_live & (end < NEVER)
    return (
        np.concatenate([begin[begins], end[ends]]),
        np.concatenate([windows.rows[begins], windows.rows[ends]]),
        np.concatenate([windows.numbers[begins], windows.numbers[ends]]),
    )


def _flips_of_both(chosen: LanguageWindows, other: LanguageWindows) -> Iterator[Flips]:
    """Return the flips of the same entries in two languages, of which the other stands in while the chosen one is not
    live."""
    yield _flips(chosen)

    def stands_in(at: Array) -> Array:
        return is_live(other.live_from, other.live_until, at) & ~is_live(chosen.live_from, chosen.live_until, at)

    for at in (chosen.live_from, chosen.live_until, other.live_from, other.live_until):
        turns = (stands_in(at) != stands_in(at - 1)) & (at > ALWAYS) & (at < NEVER)
        yield at[turns], other.rows[turns], other.numbers[turns]


def _schedule(flips: Sequence[Flips]) -> Schedule:
    return Schedule(*(np.concatenate(arrays) for arrays in zip(*flips, strict=True)))

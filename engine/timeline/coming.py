"""What goes live and ends next, by instant: each entry once, with its languages, and the number of what is left out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec
import numpy as np

from engine.timeline.timeline import Flip, Timeline
from engine.timeline.windows import Ints
from snapshots.model import NEVER

MOST_KNOWN: Final = 300
"""Flips of an instant up to which its entries are known and counted one by one."""


class ComingEntry(msgspec.Struct, frozen=True):
    """An entry that goes live or ends at an instant."""

    api: str
    """Endpoint."""
    id: str
    flips: tuple[Flip, ...]
    """One for each language, the workspace's order."""

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages in which it does so."""
        return tuple(flip.lang for flip in self.flips)


class Moment(msgspec.Struct, frozen=True):
    """What goes live, or ends, at one instant."""

    at: int
    """UTC milliseconds."""
    live: bool
    """Whether it goes live, or ends."""
    entries: tuple[ComingEntry, ...]
    """By API and ID; the first ones, where there are very many."""
    versions: int
    """The number of language versions in all."""

    @property
    def is_whole(self) -> bool:
        """Whether ``entries`` has all of them."""
        return sum(len(entry.flips) for entry in self.entries) == self.versions


class Coming(msgspec.Struct, frozen=True):
    """The next moments, and what comes after them."""

    moments: tuple[Moment, ...]
    """Earliest first; of one instant, what ends first."""
    later: int = 0
    """The number of moments left out."""
    later_versions: int = 0
    """The number of language versions in them."""
    last: int | None = None
    """The instant of the last of them, UTC milliseconds; ``None`` where none are left out."""


def coming(timeline: Timeline, languages: Iterable[str], now: int, most: int) -> Coming:
    """Return the ``most`` next moments after ``now`` (UTC milliseconds). ``languages`` are the workspace's, in its
    order. Raises ``StoreError``."""
    moments, counts = _moments(*timeline.flips_after(now))
    order = {lang: number for number, lang in enumerate(languages)}
    shown = []
    for (at, live), count in zip(moments[:most], counts, strict=False):
        flips = [flip for flip in timeline.schedule(at, at + 1, most=MOST_KNOWN).flips if flip.live is live]
        by_entry: dict[tuple[str, str], list[Flip]] = {}
        for flip in flips:
            by_entry.setdefault((flip.api, flip.entry), []).append(flip)
        entries = tuple(
            ComingEntry(*key, tuple(sorted(some, key=lambda flip: order.get(flip.lang, 0))))
            for key, some in by_entry.items()
        )
        shown.append(Moment(at, live, tuple(sorted(entries, key=lambda one: (one.api, one.id))), count))
    left = len(moments) - len(shown)
    if not left:
        return Coming(tuple(shown))
    return Coming(tuple(shown), left, sum(counts[len(shown) :]), moments[-1][0])


def _moments(begin: Ints, end: Ints) -> tuple[list[tuple[int, bool]], list[int]]:
    """Return the moments of instants at which versions go live, and end, in order, and the versions of each."""
    found: list[tuple[int, bool, int]] = []
    for instants, live in ((end, False), (begin, True)):
        at, counts = np.unique(instants[instants < NEVER], return_counts=True)
        found += zip(at.tolist(), [live] * len(at), counts.tolist(), strict=True)
    found.sort()
    return [(at, live) for at, live, _ in found], [count for _, _, count in found]

"""Decide whether a network address may ask for another letter now. Kept in memory, in bounded size."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

WINDOW_MS: Final = 15 * 60_000
MOST_KEPT: Final = 10_000
"""Askers that are remembered; the ones that were not heard of the longest go."""


class Askers:
    """Lets each asker through ``most`` times in a quarter of an hour. Used by one thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._times: OrderedDict[Hashable, tuple[int, ...]] = OrderedDict()

    def may(self, who: Hashable, now: int) -> bool:
        """Return whether an asker may once more at ``now`` (UTC milliseconds), and count it then."""
        recent = tuple(at for at in self._times.pop(who, ()) if 0 <= now - at < WINDOW_MS)
        lets = len(recent) < self._most
        self._times[who] = (*recent, now) if lets else recent
        if len(self._times) > MOST_KEPT:
            self._times.popitem(last=False)
        return lets

"""What people were told had been done, and when: held against what machines do, and against the store at the end."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from tests.simulation.below.scheduler import SECOND


class Violated(AssertionError):
    """What the product promises does not hold."""


QUICK = 8 * SECOND
"""Microseconds after which a change is followed, or machines say that they do not."""
LAST_VIEWS = 2 * SECOND
"""Microseconds before a power cut of which page views may be lost: the last second, and the sealing in it."""
HINTLESS = 75 * SECOND
"""The same for a change whose announcement met a fault, for each workspace: they are looked at in turn."""


@dataclass
class Fact:
    """A property of something, as the changes that were acknowledged left it."""

    value: object
    since: int
    """When that was acknowledged, in microseconds."""
    bound: int = QUICK
    """Microseconds until machines follow it."""
    others: set[object] = field(default_factory=set)
    """Values that it may have as well: of changes of which it is not known whether they were made."""


@dataclass
class KnownKey:
    """A key that was issued."""

    workspace: str
    text: str
    prefix: str
    disabled: Fact
    name: Fact
    deleted: Fact


class Ledger:
    """All that was acknowledged in a run."""

    def __init__(self) -> None:
        self.keys: list[KnownKey] = []
        self.views: Counter[tuple[str, str]] = Counter()
        """Page views that were taken, by workspace and path."""
        self.unsure_views: Counter[tuple[str, str]] = Counter()
        """Page views whose worker died over them, or that a power cut may have taken."""
        self._last_views: deque[tuple[int, str, str, str]] = deque(maxlen=100)
        """The page views that were taken last: when, by which machine, of which workspace and path."""
        self.audit: Counter[tuple[str, str]] = Counter()
        """Changes that were made, by workspace and what the audit log has to say of them."""
        self.unsure_audit: Counter[tuple[str, str]] = Counter()
        self.audit_by_hand: Counter[tuple[str, str]] = Counter()
        """Those of which the line could not be kept, and people were told to add it."""
        self.gone: dict[tuple[str, str], Fact] = {}
        """By workspace and version, when versions were deleted that nobody has published again."""
        self.pushed: dict[tuple[str, str], float] = {}
        """By workspace and version, when versions were last pushed; one of which that did not end is for ever."""
        self.versions: dict[str, list[tuple[int, str]]] = {}
        """By workspace, the versions that became current in the store, and when."""

    def took_view(self, now: int, machine: str, workspace: str, path: str) -> None:
        """Note a page view that was acknowledged."""
        self.views[workspace, path] += 1
        self._last_views.append((now, machine, workspace, path))

    def lost_power(self, now: int, machine: str) -> None:
        """Note which page views a machine may have lost with its power."""
        for at, where, *view in list(self._last_views):
            if where == machine and now - at <= LAST_VIEWS:
                self._last_views.remove((at, where, *view))
                self.views[view[0], view[1]] -= 1
                self.unsure_views[view[0], view[1]] += 1

    def was_current(self, workspace: str, version: str, now: int, within: int) -> bool:
        """Return whether a version was current at some time of the last so many microseconds."""
        history = self.versions.get(workspace, [])
        for place, (_, one) in enumerate(history):
            until = history[place + 1][0] if place + 1 < len(history) else now
            if one == version and until >= now - within:
                return True
        return False

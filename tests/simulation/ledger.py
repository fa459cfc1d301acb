"""What people were told had been done, and when: held against what machines do, and against the store at the end."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tests.simulation.below.scheduler import SECOND


class Violated(AssertionError):
    """What the product promises does not hold."""


QUICK = 8 * SECOND
"""Microseconds after which a change is followed, or machines say that they do not."""
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
        """Page views whose worker died over them."""
        self.audit: Counter[tuple[str, str]] = Counter()
        """Changes that were made, by workspace and what the audit log has to say of them."""
        self.unsure_audit: Counter[tuple[str, str]] = Counter()
        self.versions: dict[str, list[tuple[int, str]]] = {}
        """By workspace, the versions that became current in the store, and when."""

    def was_current(self, workspace: str, version: str, now: int, within: int) -> bool:
        """Return whether a version was current at some time of the last so many microseconds."""
        history = self.versions.get(workspace, [])
        for place, (_, one) in enumerate(history):
            until = history[place + 1][0] if place + 1 < len(history) else now
            if one == version and until >= now - within:
                return True
        return False

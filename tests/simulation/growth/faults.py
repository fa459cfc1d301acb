"""Faults by which something grows with time: the simulation has to find them."""

from __future__ import annotations

from typing import Any

from server.mirror import following
from server.workspaces.workspaces import Workspaces
from tests.simulation.fault import QUIET, Change, Fault


def _remembers_each_look() -> list[Change]:
    refresh = Workspaces._refresh

    def refreshed(self: Any) -> None:
        refresh(self)
        self.__dict__.setdefault("_looks", []).append(self.complaint)

    return [(Workspaces, "_refresh", refreshed)]


def _asks_too_often() -> list[Change]:
    return [(following, "POLL_SECONDS", 0.4)]


_DAYS: dict[str, Any] = {**QUIET, "nights": 12, "readers": 1, "receivers": 0}

GROWTH: dict[str, Fault] = {
    "looks-remembered": Fault("each look at the store leaves something in memory", _remembers_each_look, _DAYS),
    "polls-often": Fault("a mirror asks more often than the documents say", _asks_too_often, _DAYS),
}

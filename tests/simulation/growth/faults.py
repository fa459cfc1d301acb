"""Faults by which something grows with time: the simulation has to find them."""

from __future__ import annotations

from typing import Any

from server.background.election import Election
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


def _leaves_objects() -> list[Change]:
    renew = Election.renew

    def renewed(self: Any) -> None:
        renew(self)
        self._lease._objects.create(f"_views/left/{self._clock()}", bytes(20_000))

    return [(Election, "renew", renewed)]


def _leaves_files() -> list[Change]:
    refresh = Workspaces._refresh

    def refreshed(self: Any) -> None:
        refresh(self)
        with (self._cache / "left").open("ab") as file:
            file.write(bytes(100_000))

    return [(Workspaces, "_refresh", refreshed)]


_DAYS: dict[str, Any] = {**QUIET, "nights": 12, "readers": 1, "receivers": 0}

GROWTH: dict[str, Fault] = {
    "looks-remembered": Fault("each look at the store leaves something in memory", _remembers_each_look, _DAYS),
    "objects-left": Fault("each look at a lease leaves an object in the bucket", _leaves_objects, _DAYS),
    "disk-grows": Fault("each look at the store makes a file on the machine longer", _leaves_files, _DAYS),
    "polls-often": Fault("a mirror asks more often than the documents say", _asks_too_often, _DAYS),
}

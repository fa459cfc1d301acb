"""What one process knows to be wrong, and for how long it has been."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import msgspec

from server.states.table import ROWS

MACHINE: Final = ""
"""Stands in the place of a workspace for what is the machine's."""


class Trouble(msgspec.Struct, frozen=True):
    """One thing that is wrong."""

    what: str
    """A name of ``server.states.table``."""
    workspace: str
    """``MACHINE`` for what is the machine's."""
    since: int
    """Milliseconds of ``steady_ms``: how long it has lasted does not depend on how the clock was set meanwhile."""

    def seconds(self, steady: int) -> float:
        """Return for how long it has been wrong at ``steady`` (milliseconds): always more than 0."""
        return max(0.001, (steady - self.since) / 1000)


class States:
    """The troubles of one process. Any number of threads may note some at the same time."""

    def __init__(self, name: str, steady: Callable[[], int]) -> None:
        """``name`` tells a process's troubles from each other, where it notes them at several places; ``steady``
        returns the present instant in milliseconds of ``steady_ms``."""
        self.name: Final = f"{name}-{os.getpid()}"
        self._steady = steady
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], Trouble] = {}

    def wrong(self, what: str, workspace: str = MACHINE, *, age: int | None = None) -> None:
        """Note that something is wrong, since now unless that is known already; with ``age``, for so many milliseconds.
        What is told for a while only, by its row, happens now."""
        with self._lock:
            if age is not None or ROWS[what].told_for is not None or (what, workspace) not in self._known:
                self._known[what, workspace] = Trouble(what, workspace, self._steady() - (age or 0))

    def well(self, what: str, workspace: str = MACHINE) -> None:
        """Note that something is as it should be."""
        with self._lock:
            self._known.pop((what, workspace), None)

    def set(self, what: str, workspace: str = MACHINE, *, wrong: bool) -> None:
        """Note that something is ``wrong``, or is not."""
        if wrong:
            self.wrong(what, workspace)
        else:
            self.well(what, workspace)

    def only(self, what: str, ages: Mapping[str, int | None]) -> None:
        """Note that something is wrong of these workspaces, and of no others; each with its ``age``."""
        for name, age in ages.items():
            self.wrong(what, name, age=age)
        with self._lock:
            for key in [key for key in self._known if key[0] == what and key[1] not in ages]:
                del self._known[key]

    @contextmanager
    def trying(self, what: str, workspace: str = MACHINE) -> Iterator[None]:
        """Note by the block how something is: wrong where it raises, which it goes on to do."""
        try:
            yield
        except Exception:
            self.wrong(what, workspace)
            raise
        self.well(what, workspace)

    def troubles(self) -> list[Trouble]:
        """Return all that is wrong now. What happened at an instant is told for as long as its row says."""
        now = self._steady()
        with self._lock:
            for key, one in list(self._known.items()):
                told_for = ROWS[one.what].told_for
                if told_for is not None and now - one.since >= told_for * 1000:
                    del self._known[key]
            return sorted(self._known.values(), key=lambda one: (one.what, one.workspace))

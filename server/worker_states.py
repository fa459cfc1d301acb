"""What a worker knows to be wrong: of versions, keys and counts that it follows, and of the limits that it keeps."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Final

from engine.access.keys.keys import local_date
from server.delivery.rate_limit import RateLimits
from server.mirror.behind import COUNTS, CURRENT_VERSION, KEYS
from server.processes.repeating import repeat
from server.states.clock_watch import steady_ms
from server.states.pages import MachineStates, StatesPage
from server.states.states import States, Trouble
from server.states.table import CACHE, CURRENT, KEY_END, REDIS, STORE
from server.views.collection import ViewCollection
from server.workspaces.workspaces import ServedWorkspace, Workspaces
from snapshots.store.store import Store

LOOK_SECONDS: Final = 0.5
KEY_END_DAYS: Final = timedelta(days=3)
"""Days before a key's last one in which it is told that it ends."""
KEY_ENDED_DAYS: Final = timedelta(days=1)
"""Days after it in which that is still told."""
KEYS_LOOK_MS: Final = 10_000
"""Milliseconds between two looks at the last days of all keys."""


class WorkerStates:
    """Notes how things are from ``start`` to ``stop``, and tells the other processes."""

    def __init__(
        self,
        store: Store,
        workspaces: Workspaces,
        views: ViewCollection,
        rate_limits: RateLimits,
        clock: Callable[[], int],
    ) -> None:
        self.states: Final = States("worker", steady_ms)
        self._workspaces = workspaces
        self._views = views
        self._rate_limits = rate_limits
        self._clock = clock
        self._page = StatesPage(store, self.states, steady_ms)
        self._machine = MachineStates(store, self.states, steady_ms)
        self._looked_at: int | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(
            target=partial(repeat, trouble="this process cannot say how it is: %s"),
            args=(self._step, LOOK_SECONDS, self._stopping),
            name="states",
            daemon=True,
        )

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more, and tell nothing any more."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self._page.take_back()

    def look(self) -> None:
        """Note how everything is now. Any thread may do so."""
        note, found = self.states, self._workspaces.all()
        note.set(STORE, wrong=self._workspaces.complaint is not None)
        note.only(CURRENT_VERSION, {one.id: None for one in found if one.snapshots.refusal is not None})
        note.only(CURRENT, {one.id: None for one in found if one.snapshots.complaint is not None})
        note.only(KEYS, {one.id: None for one in found if one.access.complaint is not None})
        note.only(COUNTS, {one.id: None for one in found if self._views.of_workspace(one.id).complaint is not None})
        note.set(REDIS, wrong=bool(self._rate_limits.problems) or self._views.is_not_shared)

    def of_machine(self) -> list[tuple[Trouble, float]]:
        """Return what is wrong now, as all processes of this machine know it, each with the seconds that it has
        lasted. Any thread may ask."""
        self.look()
        now = steady_ms()
        return [(one, one.seconds(now)) for one in self._machine.troubles()]

    def _step(self) -> None:
        self.look()
        now = self._clock()
        if self._looked_at is None or not 0 <= now - self._looked_at < KEYS_LOOK_MS:
            self._looked_at = now
            self.states.only(KEY_END, {one.id: None for one in self._workspaces.all() if _has_key_that_ends(one, now)})
        with self.states.trying(CACHE):  # or no other process could tell this one
            self._page.write()


def _has_key_that_ends(workspace: ServedWorkspace, now: int) -> bool:
    served, access = workspace.snapshots.served, workspace.access.list
    if served is None or access is None:
        return False
    today = local_date(now, served.zone)
    ends = (key.period.end for key in access.keys if not key.disabled and key.period.end is not None)
    return any(today - KEY_ENDED_DAYS <= end <= today + KEY_END_DAYS for end in ends)

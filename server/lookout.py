"""What `cms serve` itself looks at, once a second, and what its log says of all troubles of the machine."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

from engine.access.audit.log import AuditLog
from engine.backup.newest import newest_backup
from engine.views.gathering.writer import FILE_MS
from server.background.presence import keeper_lock
from server.background.views.spools import spools, waiting_views
from server.logs import LOGGER
from server.mirror.behind import ALL, COUNTS, CURRENT_VERSION, KEYS, VIEWS, WEBHOOKS
from server.mirror.freshness import Freshness
from server.processes.repeating import repeat
from server.states.clock_watch import ClockWatch, steady_ms
from server.states.machine import disk_is_short, memory_is_short
from server.states.pages import MachineStates, StatesPage
from server.states.states import States
from server.states.table import AUDIT, BACKUP, BUCKET, BUILD, CACHE, CLOCK, DISK, KEEPER, MEMORY, ROWS, STORE
from server.workspaces.names import WorkspaceNames
from snapshots.problems import ParquetryError
from snapshots.store.staging import builds_under_way
from snapshots.store.store import Store
from snapshots.times import now_ms

LOOK_SECONDS: Final = 1.0
STORE_LOOK_MS: Final = 5_000
"""Milliseconds between two looks at what is in the workspaces' folders."""
VIEWS_MS: Final = FILE_MS + 60_000
"""Milliseconds that page views may wait without anything being wrong: rows are filed together."""
BUILD_MS: Final = 600_000
"""Milliseconds that a build may take without anything being wrong."""
BACKUP_MS: Final = 2 * 24 * 3_600_000
"""Milliseconds by which the newest backup may be old without anything being wrong."""
FUTURE_MS: Final = 5_000
"""Milliseconds by which clocks of different machines may differ."""

_log = logging.getLogger(LOGGER)


class Lookout:
    """Looks at the machine and its store. Used by one thread."""

    def __init__(
        self,
        store: Store,
        freshness: Freshness | None,
        states: States,
        *,
        clock: Callable[[], int] = now_ms,
        steady: Callable[[], int] = steady_ms,
    ) -> None:
        """``freshness`` is that of a store in a bucket, ``None`` for a directory; ``steady`` returns milliseconds that
        no setting of the clock changes."""
        self._store = store
        self._freshness = freshness
        self._states = states
        self._clock = clock
        self._steady = steady
        self._keeper = keeper_lock(store)
        self._page = StatesPage(store, states, steady)
        self._machine = MachineStates(store, states, steady)
        self._clock_watch = ClockWatch(clock, steady)
        self._looked_at: int | None = None
        self._names = WorkspaceNames(store)
        self._is_behind = False
        """Whether what is current was activated in the future."""
        self._complaint: str | None = None
        self._told: set[tuple[str, str]] = set()

    def look(self) -> None:
        """Note what is wrong, write this process's page, and log what has begun to need people."""
        self._look_at_clock()
        self._states.set(DISK, wrong=any(disk_is_short(path) for path in (self._store.root, self._store.cache)))
        self._states.set(MEMORY, wrong=memory_is_short())
        with suppress(OSError):
            self._states.set(KEEPER, wrong=self._keeper.is_free())
        behind = self._look_at_bucket()
        if self._looked_at is None or self._steady() - self._looked_at >= STORE_LOOK_MS:
            self._looked_at = self._steady()
            try:
                self._look_at_store(behind.get(VIEWS, {}))
            except (ParquetryError, OSError):  # workers log it
                self._states.wrong(STORE)
        self._write_page()
        self._tell()

    def end(self) -> None:
        """Delete this process's page."""
        self._page.take_back()

    def _look_at_clock(self) -> None:
        jumped = self._clock_watch.jump()
        if jumped is not None:
            way = "forward" if jumped > 0 else "back"
            _log.error("the clock of this machine was set %s by %.0f s", way, abs(jumped) / 1000)
            self._states.wrong(CLOCK)
        elif self._is_behind:
            self._states.wrong(CLOCK)  # anew each time, since it is told for a while only

    def _look_at_bucket(self) -> dict[str, dict[str, int]]:
        """Note what is behind a bucket; return the milliseconds for which it is, by part and workspace."""
        ages: dict[str, dict[str, int]] = {}
        if self._freshness is not None:
            now, contact = self._clock(), self._freshness.contact()
            self._states.set(BUCKET, wrong=contact.at is not None and not contact.reachable)
            for name in self._store.workspaces():
                for what, since in self._freshness.behind(name).items():
                    ages.setdefault(what, {})[name] = max(0, now - since)
            for what in (CURRENT_VERSION, KEYS, ALL, COUNTS, WEBHOOKS):
                self._states.only(what, ages.get(what, {}))
        return ages

    def _look_at_store(self, unsent: Mapping[str, int]) -> None:
        late: dict[str, None] = {}
        waiting, building, future = dict(unsent), {}, False
        now, names = self._clock(), self._names.look()
        self._states.well(STORE)
        for name in names:
            workspace_store = self._store.workspace(name)
            if self._freshness is None and AuditLog(workspace_store.objects, name).late():
                late[name] = None
            age = max((now - since for since in builds_under_way(workspace_store.snapshots)), default=0)
            if age > BUILD_MS:
                building[name] = age
            with suppress(ParquetryError):
                current = workspace_store.current()
                future = future or (current is not None and current.activated_at > now + FUTURE_MS)
        for views in spools(self._store.root):
            _, seconds = waiting_views(views)
            if seconds * 1000 > VIEWS_MS:
                waiting[views.parent.name] = int(seconds * 1000)
        if self._freshness is None:
            self._look_at_backup(now)
        self._states.only(AUDIT, late)
        self._states.only(VIEWS, waiting)
        self._states.only(BUILD, building)
        self._note_future(future=future)

    def _look_at_backup(self, now: int) -> None:
        """Note that the newest backup is old. A store that was never saved says nothing: a trial has no need to be."""
        newest = newest_backup(self._store.objects)
        late = 0 if newest is None else now - newest.begun_at - BACKUP_MS
        if late > 0:
            self._states.wrong(BACKUP, age=late)
        else:
            self._states.well(BACKUP)

    def _note_future(self, *, future: bool) -> None:
        if self._is_behind and not future:
            self._states.well(CLOCK)
        if future and not self._is_behind:
            _log.error(
                "the current snapshot version was activated in the future: the clock of this machine is behind, or "
                "that of the machine that published is ahead"
            )
        self._is_behind = future

    def _write_page(self) -> None:
        try:
            self._page.write()
        except ParquetryError as error:
            if str(error) != self._complaint:
                _log.error("the cache cannot be written: %s", error)
            self._complaint = str(error)
            self._states.wrong(CACHE)
        else:
            self._states.well(CACHE)
            self._complaint = None

    def _tell(self) -> None:
        """Log the troubles that have lasted until their alert, and those of them that are over."""
        now = self._steady()
        found = {(one.what, one.workspace): one.seconds(now) for one in self._machine.troubles()}
        due = {key for key, seconds in found.items() if seconds > ROWS[key[0]].after}
        for what, workspace in sorted(due - self._told):
            row = ROWS[what]
            level = logging.ERROR if row.severity == "critical" else logging.WARNING
            lasts = "" if row.told_for is not None else f" (for {found[what, workspace]:.0f} s)"
            _log.log(level, "%s%s: %s%s", f"{workspace}: " if workspace else "", row.alert, row.wrong, lasts)
        for what, workspace in sorted(self._told - found.keys()):
            _log.info("%s%s is over", f"{workspace}: " if workspace else "", ROWS[what].alert)
        self._told = (self._told & found.keys()) | due


@contextmanager
def looked_out(store: Store, freshness: Freshness | None) -> Iterator[States]:
    """Look once a second, in a thread, while the block runs; yield the states, in which this process notes others."""
    states = States("server", steady_ms)
    lookout = Lookout(store, freshness, states)
    stopping = threading.Event()
    thread = threading.Thread(
        target=repeat,
        args=(lookout.look, LOOK_SECONDS, stopping),
        kwargs={"trouble": "the state of this machine cannot be looked at: %s"},
        name="lookout",
        daemon=True,
    )
    thread.start()
    try:
        yield states
    finally:
        stopping.set()
        thread.join()
        lookout.end()

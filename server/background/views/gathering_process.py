"""The page views of a store in a bucket: each machine sends its views, and pulls the counts of all.

Of all machines, the one with the lease also writes the counts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from engine.views.gathering.gathering import ViewGathering
from engine.views.gathering.pulling import CountsPulling
from engine.views.gathering.sending import SEND_SECONDS, ViewSending
from server.background.views.spools import spools
from server.mirror.behind import COUNTS, VIEWS, BehindStates
from server.mirror.contact import VIEWS_CONTACT, Contact, ContactPage
from server.processes.repeating import attempt, repeat
from snapshots.problems import ParquetryError, raise_all
from snapshots.store.objects import Objects
from snapshots.store.store import Store
from snapshots.times import now_ms

ROUND_SECONDS = 1.0
"""Seconds between two looks whether there is something to send or to write."""
WRITE_MS = 21_000
"""Milliseconds between two rounds of writing."""
PULL_SECONDS = 14.0
"""Seconds between two looks at the counts."""
WAITING = "page views wait on this machine, and counts stay as they are: %s"
WORK = "_page-views"
"""The folder in the cache directory in which counts are worked on: no workspace can have this ID."""


class MachineViews:
    """A machine's work for page views, step by step. Each kind of steps may run in a thread of its own."""

    def __init__(self, objects: Objects, mirror: Store, retention_days: int | None, holds: Callable[[], bool]) -> None:
        """``holds`` returns whether this machine is the one that writes; it may raise ``StoreError``."""
        self._objects = objects
        self._mirror = mirror
        self._holds = holds
        self._gathering = ViewGathering(objects, mirror, mirror.cache / WORK, retention_days)
        self._pulling = CountsPulling(objects, mirror)
        self._sending: dict[Path, ViewSending] = {}
        self._page = ContactPage(mirror.root, VIEWS_CONTACT)
        self._behind = BehindStates({COUNTS: int(2000 * PULL_SECONDS), VIEWS: int(2000 * SEND_SECONDS)})
        self._wrote_at: int | None = None
        """When the last round of writing began (UTC milliseconds); ``None`` before the first as the one that writes."""

    def send(self, *, flush: bool = False) -> None:
        """Send the views that wait on this machine. Raises ``StoreError``, after the views of all workspaces."""
        failed: list[ParquetryError] = []
        waiting = spools(self._mirror.root)
        for views in waiting:
            if views not in self._sending:  # a new dictionary, so that ``tell`` meets none that is changing
                sending = ViewSending(views, views.parent.name, self._objects)
                self._sending = {**self._sending, views: sending}
        for views, sending in self._sending.items():
            if views not in waiting:
                sending.has_failed = False
                continue
            try:
                sending.round(now_ms(), time.monotonic(), flush=flush)
            except ParquetryError as error:
                failed.append(error)
        raise_all(failed)

    def write(self) -> None:
        """Write the counts of all machines, if this is the one that does. Raises ``StoreError``."""
        wrote_at, self._wrote_at = self._wrote_at, None  # until it is known
        if not self._holds():
            return
        self._wrote_at, now = wrote_at, now_ms()
        if wrote_at is None or not 0 <= now - wrote_at < WRITE_MS:
            if wrote_at is None:
                self._gathering.take_over()
            self._wrote_at = now
            self._gathering.round(now)

    def pull(self) -> None:
        """Get the counts that have changed. Raises ``StoreError`` and ``CountsDamaged``."""
        self._pulling.round(time.monotonic())

    def tell(self) -> None:
        """Write the page that says with what this machine is behind. Raises ``OSError``."""
        now, failed = now_ms(), dict(self._pulling.failed)
        unsent = [(sending.workspace, VIEWS) for sending in self._sending.values() if sending.has_failed]
        behind = self._behind.told([*((name, COUNTS) for name in failed), *unsent], now)
        unable = tuple(name for name, is_ours in failed.items() if is_ours and COUNTS in behind.get(name, {}))
        self._page.write(Contact(behind=behind, unable=unable, written_at=now))

    def send_last(self) -> None:
        """Send what is left: this machine's disk may go with it. Raises ``StoreError``."""
        self.send(flush=True)

    def end(self) -> None:
        """Tell the bucket that no more comes. Raises ``StoreError``."""
        for sending in self._sending.values():
            sending.close()
        if self._holds():
            self._gathering.round(now_ms())


def gather_views(views: MachineViews, stopping: threading.Event) -> None:
    """Send, write and pull until ``stopping`` is set."""
    steps = (views.send, views.write, views.pull, views.tell)
    threads = [
        threading.Thread(
            target=partial(repeat, trouble=WAITING, over="page views go to the store again"),
            args=(step, PULL_SECONDS if step == views.pull else ROUND_SECONDS, stopping),
            name=step.__name__,
            daemon=True,
        )
        for step in steps
    ]
    for thread in threads:
        thread.start()
    stopping.wait()
    threads[0].join()
    attempt(views.send_last, WAITING)
    for thread in threads[1:]:
        thread.join()
    attempt(views.end, WAITING)

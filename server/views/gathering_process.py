"""The page views of a store in a bucket, as a process of each machine: it sends views, and pulls the counts of all.

Of the processes of all machines, the one with the lease also writes the counts.
"""

from __future__ import annotations

import logging
import logging.config
import secrets
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

from engine.views.gathering.gathering import ViewGathering
from engine.views.gathering.layout import LEASE
from engine.views.gathering.pulling import CountsPulling
from engine.views.gathering.sending import SEND_SECONDS, ViewSending
from server.logs import LOGGER, log_config
from server.mirror.behind import COUNTS, VIEWS, BehindStates
from server.mirror.contact import VIEWS_CONTACT, Contact, ContactPage
from server.processes.child import NICENESS, until_told
from server.processes.standing_back import stand_back
from server.views.spools import spools
from snapshots.problems import ParquetryError, raise_all
from snapshots.store.leases import Lease
from snapshots.store.locations import open_objects
from snapshots.store.objects import Objects
from snapshots.store.store import Store
from snapshots.times import now_ms

ROUND_SECONDS = 1.0
"""Seconds between two looks whether there is something to send or to write, or a lease to take."""
WRITE_MS = 21_000
"""Milliseconds between two rounds of writing."""
PULL_SECONDS = 14.0
"""Seconds between two looks at the counts."""
LEASE_MS = 28_000
"""How long a lease holds. With sending, at most ten seconds, and pulling, counts are everywhere within a minute even
when the machine that writes is killed."""
RENEW_MS = 21_000
"""Milliseconds between two renewals of the lease, each of which costs a request."""
RETRY_MS = 5_000
"""Milliseconds after which the lease is asked for again when that failed."""
WORK = "_page-views"
"""The folder in the cache directory in which counts are worked on: no workspace can have this ID."""

_log = logging.getLogger(LOGGER)


class MachineViews:
    """What the process does, step by step. Each kind of steps may run in a thread of its own."""

    def __init__(self, objects: Objects, mirror: Store, retention_days: int | None) -> None:
        self._objects = objects
        self._mirror = mirror
        self._lease = Lease(objects, LEASE, f"{socket.gethostname()}-{secrets.token_hex(8)}", LEASE_MS)
        self._gathering = ViewGathering(objects, mirror, mirror.cache / WORK, retention_days)
        self._pulling = CountsPulling(objects, mirror)
        self._sending: dict[Path, ViewSending] = {}
        self._page = ContactPage(mirror.root, VIEWS_CONTACT)
        self._behind = BehindStates({COUNTS: int(2000 * PULL_SECONDS), VIEWS: int(2000 * SEND_SECONDS)})
        self._elect_at = 0
        """When the lease is to be renewed, or ends if it is another machine's (UTC milliseconds)."""
        self._is_writer = False
        """Whether this machine has the lease, as far as it knows."""
        self._wrote_at: int | None = None
        """When the last round of writing began (UTC milliseconds); ``None`` before the first with this lease."""

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

    def elect(self) -> None:
        """Renew the lease, or take it if it has ended. Raises ``StoreError``."""
        now = now_ms()
        if 0 < self._elect_at - now <= LEASE_MS:  # else due, or the clock was set back
            return
        was_writer, self._is_writer = self._is_writer, False  # until it is known
        self._elect_at = now + RETRY_MS
        is_writer = self._lease.take(now)
        if is_writer and not was_writer:
            self._wrote_at = None
        self._is_writer = is_writer
        self._elect_at = now + RENEW_MS if is_writer else self._lease.ask_at

    def write(self) -> None:
        """Write the counts of all machines, if this one has the lease. Raises ``StoreError``."""
        now = now_ms()
        if self._is_writer and (self._wrote_at is None or not 0 <= now - self._wrote_at < WRITE_MS):
            if self._wrote_at is None:
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
        """Tell the bucket that no more comes, and give the lease back. Raises ``StoreError``."""
        for sending in self._sending.values():
            sending.close()
        if self._is_writer:
            self._gathering.round(now_ms())
            self._lease.give_back(now_ms())


def gather_views(location: str, root: str, cache: str, log_format: str, retention_days: int | None) -> None:
    """Run the process for the bucket at ``location``, mirrored in ``root``, until SIGTERM or the end of its parent."""
    logging.config.dictConfig(log_config(log_format))
    stand_back(NICENESS)
    stopping = until_told()
    views = MachineViews(open_objects(location), Store(Path(root), Path(cache)), retention_days)
    steps = (views.send, views.elect, views.write, views.pull, views.tell)
    threads = [
        threading.Thread(
            target=_repeat,
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
    _guarded(views.send_last, None)
    for thread in threads[1:]:
        thread.join()
    _guarded(views.end, None)


def _repeat(step: Callable[[], None], seconds: float, stopping: threading.Event) -> None:
    """Take a step again and again; a new complaint is logged once."""
    complaint: str | None = None
    while True:
        complaint = _guarded(step, complaint)
        if stopping.wait(seconds):
            return


def _guarded(step: Callable[[], None], before: str | None) -> str | None:
    """Take a step; return its complaint, which is logged unless it is the one ``before``."""
    try:
        step()
    except (ParquetryError, OSError) as error:
        if str(error) != before:
            _log.error("page views wait on this machine, and counts stay as they are: %s", error)
        return str(error)
    except Exception:
        _log.exception("page views: a step failed; it is tried again")
        return before
    if before is not None:
        _log.info("page views go to the store again")
    return None

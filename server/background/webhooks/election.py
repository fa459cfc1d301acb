"""Which of all processes that serve a store sends its webhooks: one on a machine by a lock, one machine by a lease.

That spares work and keeps events in order. That nothing is lost or told wrongly rests on the ledger alone.
"""

from __future__ import annotations

import re
import secrets
import socket
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from snapshots.store.durable import StoreError
from snapshots.store.leases import Lease
from snapshots.store.objects import Objects, StoreUnreachable

LOCK: Final = "webhooks.lock"
"""The lock in the cache that the process which sends holds as long as it lives."""
HOLDER: Final = "webhooks-holder"
"""The file in the cache with the name by which its machine holds the lease."""
LEASE: Final = "webhooks-sender.json"
LEASE_MS: Final = 45_000
RENEW_MS: Final = 30_000
"""Milliseconds between two renewals of the lease, each of which costs a request: the machine that also writes the page
views' counts is to ask no more than 70 times a minute in all."""
RETRY_MS: Final = 5_000
"""Milliseconds after which a lease that could not be renewed is tried again, which is before it ends."""

_NAME: Final = re.compile(r"\S{1,255}-[0-9a-f]{32}")


class Election:
    """This process's part in it. Used by one thread."""

    def __init__(self, objects: Objects, cache: Path) -> None:
        self._cache = cache
        self._objects = objects
        self._lease: Lease | None = None
        """Once this process has the lock, by which one alone reads and writes the holder's name."""
        self._lock = FileLock(cache / LOCK)
        self._due_at = 0
        """When the lease is to be renewed, or ends if it is another machine's (UTC milliseconds)."""
        self._holds = False
        self._refusal: str | None = None
        """Why it is not known whose the lease is."""

    def stands_for_machine(self) -> bool:
        """Return whether this process is the one of its machine that may send; become that where none is.

        Raises ``OSError`` where the lock cannot be taken.
        """
        if not self._lock.is_locked:
            self._cache.mkdir(parents=True, exist_ok=True)
            try:
                self._lock.acquire(blocking=False)
            except Timeout:
                return False
        if self._lease is None:
            self._lease = Lease(self._objects, LEASE, _holder(self._cache / HOLDER), LEASE_MS)
        return True

    def holds(self, now: int) -> bool:
        """Return whether this process is the one of all; take or renew that where it can. ``now`` is UTC milliseconds.

        Raises ``StoreError`` where the lease cannot be read or written, which is not tried again for some seconds, and
        ``OSError`` where the lock cannot.
        """
        if not self.stands_for_machine():
            return False
        if not 0 < self._due_at - now <= LEASE_MS:  # else due, or the clock was set back
            self._ask(now)
        if self._refusal is not None:
            raise StoreError(self._refusal)
        return self._holds

    def _ask(self, now: int) -> None:
        self._holds, self._refusal = False, None
        assert self._lease is not None  # noqa: S101 - this process stands for its machine
        try:
            self._holds = self._lease.take(now)
        except StoreError as error:
            self._refusal = str(error)
            self._due_at = now + (RETRY_MS if isinstance(error, StoreUnreachable) else LEASE_MS)
        else:
            self._due_at = now + RENEW_MS if self._holds else self._lease.ask_at

    def leave(self) -> None:
        """Let another process take over."""
        self._lock.release()


def _holder(path: Path) -> str:
    """Return the name that stands for a cache, made where there is none. Raises ``OSError``.

    All servers of a machine that share a cache are one holder, so that one which is started again goes on at once. Host
    names and paths are no such name: those of two machines may be the same.
    """
    name = path.read_text(encoding="ascii", errors="replace") if path.exists() else ""
    if not _NAME.fullmatch(name):
        name = f"{socket.gethostname()}-{secrets.token_hex(16)}"
        path.write_text(name, encoding="ascii", errors="replace")
    return name

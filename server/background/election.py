"""Which of the machines that serve a store in a bucket does what is done once for all: the one that has the lease.

That spares work and keeps events in order. That nothing is lost, told wrongly or counted twice does not rest on it.
"""

from __future__ import annotations

import re
import secrets
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final

from engine.views.gathering.layout import LEASE
from snapshots.store.durable import StoreError
from snapshots.store.leases import Lease
from snapshots.store.objects import Objects, StoreUnreachable

HOLDER: Final = "keeper-holder"
"""The file in the cache with the name by which its machine holds the lease."""
LEASE_MS: Final = 28_000
"""How long a lease holds. With what page views take to be sent and pulled, counts are everywhere within a minute even
when the machine that writes them is killed."""
RENEW_MS: Final = 21_000
"""Milliseconds between two renewals, each of which costs a request."""
RETRY_MS: Final = 5_000
"""Milliseconds after which a store that could not be reached is asked again, which is before the lease ends."""

_NAME: Final = re.compile(r"\S{1,255}-[0-9a-f]{32}")


class Election:
    """This machine's part in it. One thread calls ``renew`` and ``leave``, any number ask ``holds``."""

    def __init__(self, objects: Objects, cache: Path, clock: Callable[[], int]) -> None:
        """To be made by the machine's one keeper, which alone reads and writes the holder's name in ``cache``.

        Raises ``OSError``.
        """
        self._lease = Lease(objects, LEASE, _holder(cache / HOLDER), LEASE_MS)
        self._clock = clock
        self._due_at = 0
        """When the lease is to be renewed, or ends if it is another machine's (UTC milliseconds)."""
        self._holds_until = 0
        self._refusal: str | None = None
        """Why it is not known whose the lease is."""

    def renew(self) -> None:
        """Take or renew the lease, where that is due. Raises ``StoreError``, and is not tried again for seconds."""
        now = self._clock()
        if 0 < self._due_at - now <= LEASE_MS:  # else due, or the clock was set back
            return
        self._due_at = now + RETRY_MS
        try:
            holds = self._lease.take(now)
        except StoreError as error:
            if not isinstance(error, StoreUnreachable):
                self._due_at = now + LEASE_MS
            self._holds_until, self._refusal = 0, str(error)
            raise
        self._holds_until = now + LEASE_MS if holds else 0
        self._due_at, self._refusal = now + RENEW_MS if holds else self._lease.ask_at, None

    def holds(self) -> bool:
        """Return whether this machine is the one. Raises ``StoreError`` where the lease cannot be read or written."""
        if self._refusal is not None:
            raise StoreError(self._refusal)
        return 0 < self._holds_until - self._clock() <= LEASE_MS

    def leave(self) -> None:
        """Let another machine take over at once. Raises ``StoreError``."""
        if self._holds_until:
            self._holds_until = 0
            self._lease.give_back(self._clock())


def _holder(path: Path) -> str:
    """Return the name that stands for a cache, made where there is none. Raises ``OSError``.

    The keepers of a cache, one after the other, are one holder, so that one which is started again goes on at once.
    Host names and paths are no such name: those of two machines may be the same.
    """
    name = path.read_text(encoding="ascii", errors="replace") if path.exists() else ""
    if not _NAME.fullmatch(name):
        name = f"{socket.gethostname()}-{secrets.token_hex(16)}"
        path.write_text(name, encoding="ascii", errors="replace")
    return name

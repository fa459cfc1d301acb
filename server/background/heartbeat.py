"""Describe this server in the store: for people who ask whether it serves the current version, and for prunes, which
spare the versions that it has open.

Every process notes the versions that it has open in the cache of the machine; the keeper writes all these notes into
one document of the store: every two minutes, and soon after a change. A store that cannot be written to is still
served.
"""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Callable, Iterable
from typing import Final

from engine.administration.heartbeats import (
    EVERY_MS,
    IN_USE_MS,
    ReaderProcess,
    ReadingServer,
    decode_reader,
    encode_reader,
    forget_silent,
    reader_key,
)
from server.workspaces.served_note import notes
from snapshots.store.objects import ANY, Objects
from snapshots.store.store import Store
from snapshots.version import PROGRAM

LOOK_SECONDS: Final = 2.0
"""Seconds between two looks at the notes."""
CHANGED_MS: Final = 10_000
"""Milliseconds between two documents at least, and after a failure."""
FIRST_MS: Final = int(1.5 * LOOK_SECONDS * 1000)
"""Milliseconds from the start to the first document, in which all processes are to stand."""
_FORGET_MS: Final = 24 * 3_600_000


class Heartbeat:
    """The document of this server. Used by one thread."""

    def __init__(self, store: Store, objects: Objects, clock: Callable[[], int]) -> None:
        """``store`` is what this machine reads, ``objects`` those that all machines share."""
        self._objects = objects
        self._clock = clock
        self._root = store.root
        self._cache = store.cache
        machine = f"{socket.gethostname()}:{store.cache.resolve()}"
        self._key = reader_key(hashlib.sha256(machine.encode("utf-8", "surrogateescape")).hexdigest()[:16])
        self._due_at = clock() + FIRST_MS
        self._written_at: int | None = None
        """When the document was last written; ``None`` before the first and after a failure."""
        self._written: list[object] = []
        self._forgot_at: int | None = None
        self._used: dict[str, dict[str, int]] | None = None
        """When each version was last open, by workspace; ``None`` before the document of an earlier run was read."""

    def write(self) -> None:
        """Write the document where it is due. Raises ``StoreError`` or ``OSError``."""
        now = self._clock()
        # A store that was moved or unmounted: nobody would look for anything in its old place.
        if 0 < self._due_at - now <= CHANGED_MS or not self._root.is_dir():
            return
        processes = tuple(sorted(notes(self._cache, now), key=lambda one: (one.started_at, one.pid)))
        used = self._used_until(processes, now)
        says: list[object] = [(one.pid, one.started_at, one.workspaces) for one in processes]
        written_at, self._written_at = self._written_at, None  # until it is written
        if written_at is not None and says in ([], self._written) and 0 <= now - written_at < EVERY_MS:
            self._written_at = written_at
            return
        self._due_at = now + CHANGED_MS
        document = ReadingServer(socket.gethostname(), PROGRAM, processes, now, used)
        self._objects.replace(self._key, encode_reader(document), ANY)
        self._written_at, self._written = now, says
        if self._forgot_at is None or not 0 <= now - self._forgot_at < _FORGET_MS:
            self._forgot_at = now
            forget_silent(self._objects, now)

    def _used_until(self, processes: Iterable[ReaderProcess], now: int) -> dict[str, dict[str, int]]:
        """Note when the versions that are open were open last; return that of all versions of the last hour."""
        if self._used is None:
            found = self._objects.read(self._key)
            before = None if found is None else decode_reader(found.data)
            self._used = {} if before is None else {name: dict(times) for name, times in before.used.items()}
        for process in processes:
            for name, served in process.workspaces.items():
                self._used.setdefault(name, {}).update(dict.fromkeys(served.open, now))
        for times in self._used.values():
            for version in [one for one, at in times.items() if not 0 <= now - at < IN_USE_MS]:
                del times[version]
        return self._used

    def take_back(self) -> None:
        """Delete the document if no process of this server is left. Raises ``StoreError`` or ``OSError``."""
        if not notes(self._cache, self._clock()):
            self._objects.delete([self._key])

"""A note in a store's cache: the address of the server that runs on the store, for commands that print addresses."""

from __future__ import annotations

import threading
from typing import Final

from snapshots.locks import FileLock
from snapshots.store.durable import replace_file
from snapshots.store.store import Store

NOTE: Final = "serving"
LOCK: Final = "serving.lock"
LOOK_SECONDS: Final = 0.25
"""Seconds between two looks whether another server's note is there no more."""


class ServingNote:
    """The note of one server, which it writes once no other server on the same cache has one."""

    def __init__(self, store: Store, address: str) -> None:
        self._cache = store.cache
        self._address = _reachable(address)
        self._lock = FileLock(store.cache / LOCK)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._write, name="serving-note", daemon=True)

    def begin(self) -> None:
        """Write the note now, or else in a thread as soon as that is possible."""
        if not self._tried():
            self._thread.start()

    def end(self) -> None:
        """Leave it to another server on the same cache to write one."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self._lock.leave()

    def _write(self) -> None:
        while not self._stopping.wait(LOOK_SECONDS):
            if self._tried():
                return

    def _tried(self) -> bool:
        try:
            self._cache.mkdir(parents=True, exist_ok=True)
            if self._lock.take():
                replace_file(self._cache / NOTE, self._address.encode())
        except OSError:  # a server works without a note
            self._lock.leave()
            return True
        return self._lock.is_held


def noted_address(store: Store) -> str | None:
    """Return the address of the server that runs on a store's cache; ``None`` where none is known to run."""
    try:
        if FileLock(store.cache / LOCK).is_free():
            return None
        return (store.cache / NOTE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _reachable(address: str) -> str:
    """Return the address at which this machine reaches a server that listens at every address."""
    return address.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")

"""A note in a store's cache: the address of the server that runs on the store, for commands that print addresses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from snapshots.locks import FileLock
from snapshots.store.durable import replace_file
from snapshots.store.store import Store

NOTE: Final = "serving"
LOCK: Final = "serving.lock"


@contextmanager
def serving_noted(store: Store, address: str) -> Iterator[None]:
    """Note the address in the block, unless another server on the same cache has noted its own."""
    lock = FileLock(store.cache / LOCK)
    try:
        store.cache.mkdir(parents=True, exist_ok=True)
        if lock.take():
            replace_file(store.cache / NOTE, _reachable(address).encode())
    except OSError:  # a server works without a note
        lock.leave()
    try:
        yield
    finally:
        lock.leave()


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

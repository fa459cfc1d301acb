"""Whether a machine has a keeper: it holds a lock in the cache directory as long as it lives."""

from __future__ import annotations

from typing import Final

from snapshots.locks import FileLock
from snapshots.store.store import Store

LOCK: Final = "keeper.lock"


def keeper_lock(store: Store) -> FileLock:
    """Return the lock that the one keeper of a store's cache holds."""
    return FileLock(store.cache / LOCK)

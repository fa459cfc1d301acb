"""Where the sessions of ``cms dev`` keep their builds, key and page views."""

from __future__ import annotations

from typing import Final

from snapshots.store.store import Store, open_store

STORE: Final = ".dev"
"""The folder of the sessions in the store; no workspace can have this ID."""


def unpublished(store: Store) -> Store:
    """The store of the sessions that go with a store that is published from: nobody else reads or changes it."""
    return open_store(store.root / STORE)

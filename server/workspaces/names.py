"""The workspaces that a store on this machine has."""

from __future__ import annotations

from engine.access.keys.access import ACCESS
from snapshots.store.store import Store


def names_in(store: Store) -> list[str]:
    """Return the IDs of the workspaces of a store, those too that have keys before they have a snapshot version.

    Raises ``StoreError`` and ``OSError``.
    """
    names = store.workspaces()
    return names + [found.parent.name for found in store.root.glob(f"*/{ACCESS}") if found.parent.name not in names]

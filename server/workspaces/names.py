"""The workspaces that a store on this machine has."""

from __future__ import annotations

from engine.access.keys.access import ACCESS
from snapshots.store.current import CURRENT
from snapshots.store.durable import StoreError
from snapshots.store.store import Store


class WorkspaceNames:
    """Looks for the workspaces of a store again and again. A store that held used ones and holds none was moved or
    unmounted; one whose first build was cut off has neither keys nor a current version, and may vanish."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._was_used = False

    def look(self) -> list[str]:
        """Return the IDs of the workspaces, those too that have keys before they have a snapshot version.

        Raises ``StoreError``, also for a store that was moved, and ``OSError``.
        """
        root, names = self._store.root, self._store.workspaces()
        names += [found.parent.name for found in root.glob(f"*/{ACCESS}") if found.parent.name not in names]
        if self._was_used and not names:
            raise StoreError(f"{root} holds none of its workspaces any more, as if it had been moved.")
        if not self._was_used:
            self._was_used = any((root / name / used).exists() for name in names for used in (ACCESS, CURRENT))
        return names

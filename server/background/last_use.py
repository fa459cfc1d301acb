"""Fold the last uses of keys that processes no longer write into one file a workspace, once an hour."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from engine.access.keys.access import AccessFile
from engine.access.keys.last_use import LastUse
from snapshots.problems import ParquetryError, raise_all
from snapshots.store.store import Store

FOLD_SECONDS: Final = 3600.0


def fold_last_uses(store: Store, clock: Callable[[], int]) -> None:
    """Fold the files of all workspaces. Raises ``ParquetryError``, after those that can be folded."""
    uses, failures = LastUse(store.root), []
    for workspace in store.workspaces():
        try:
            access = AccessFile(store.workspace(workspace).directory).read()
            uses.fold(workspace, None if access is None else {key.id for key in access.keys}, clock())
        except ParquetryError as error:
            failures.append(error)
    raise_all(failures)

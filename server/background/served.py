"""The workspaces of a store as the workers of this machine serve them: what these noted, and the keys."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec

from engine.access.keys.access import ACCESS, ACCESS_CODEC, AccessFile
from engine.access.keys.keys import Key
from server.mirror.held import HeldPage
from server.watched_file import Signature, signature
from server.workspaces.served_note import notes
from snapshots.problems import ParquetryError
from snapshots.store.store import Store, WorkspaceStore


class VersionServed(msgspec.Struct, frozen=True):
    """A version that a worker serves."""

    version: str
    since: int
    """UTC milliseconds."""


class KeptWorkspace:
    """One workspace."""

    def __init__(self, workspace_store: WorkspaceStore, held_page: HeldPage | None) -> None:
        self.id: Final = workspace_store.id
        self.workspace_store: Final = workspace_store
        self.keys: tuple[Key, ...] = ()
        """The workspace's API keys, as they were last read whole and valid."""
        self.served: VersionServed | None = None
        """The version to which a worker changed last; ``None`` before any worker serves one."""
        self._file = AccessFile(workspace_store.directory)
        self._held_page = held_page
        self._seen: Signature | None = None

    def read_keys(self) -> None:
        """Read the keys again if they changed; the workers log where they cannot be read."""
        found = signature(self._file.path)
        if self._held_page is not None:
            found += self._held_page.signature()
        if found != self._seen:
            self._seen = found
            with suppress(ParquetryError):
                held = None if self._held_page is None else self._held_page.read().get(f"{self.id}/{ACCESS}")
                access = self._file.read() if held is None else ACCESS_CODEC.decode(held, ACCESS)
                self.keys = self.keys if access is None else access.keys


class KeptWorkspaces:
    """All workspaces of a store. Used by one thread."""

    def __init__(self, store: Store, held_page: HeldPage | None, clock: Callable[[], int]) -> None:
        """``held_page`` is that of a mirror, ``None`` for a store in a directory."""
        self._store = store
        self._held_page = held_page
        self._clock = clock
        self._known: dict[str, KeptWorkspace] = {}

    def all(self) -> list[KeptWorkspace]:
        """Return all workspaces seen so far, by ID, as they are now; the workers log where that cannot be looked at."""
        with suppress(ParquetryError, OSError):
            for name in self._store.workspaces():
                if name not in self._known:
                    self._known[name] = KeptWorkspace(self._store.workspace(name), self._held_page)
            processes = notes(self._store.cache, self._clock())
            for workspace in self._known.values():
                workspace.read_keys()
                found = [one.workspaces[workspace.id] for one in processes if workspace.id in one.workspaces]
                served = [VersionServed(one.version, one.since) for one in found if one.version and one.since]
                workspace.served = max(served, key=lambda one: one.since, default=workspace.served)
        return [workspace for _, workspace in sorted(self._known.items())]

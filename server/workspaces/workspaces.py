"""The store's workspaces as they are served: looked at four times a second, new ones included."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from engine.access.keys.access import AccessFile, Keyring
from engine.access.keys.keys import Key
from engine.administration.heartbeats import ServedVersion
from server.logs import LOGGER
from server.mirror.held import HeldPage
from server.workspaces.access import AccessSlot
from server.workspaces.kept_versions import KeptVersions, OpenMade
from server.workspaces.names import WorkspaceNames
from server.workspaces.open_snapshot import OpenSnapshot
from server.workspaces.served_note import ServedNote, notes
from server.workspaces.snapshot_slot import OpenVersion, SnapshotSlot
from snapshots.problems import ParquetryError
from snapshots.store.store import Store, WorkspaceStore

POLL_SECONDS = 0.25
"""Seconds between two checks of the store; edits must be in force within a second (decision 43)."""
FIRST_WAIT_SECONDS = 3.0
"""Seconds that the start waits for snapshots to open, so that a restart with small ones answers no 503."""

_log = logging.getLogger(LOGGER)


class NotReady(ParquetryError):
    """The key belongs to the workspace, but no snapshot of the workspace could be opened yet (503)."""

    def __init__(self) -> None:
        super().__init__("The content of this workspace is not ready to be served yet. Try again in a moment.")


class CannotReplace(ParquetryError):
    """A process cannot serve what the one that it is to replace does."""

    def __init__(self, workspace: str, why: str) -> None:
        super().__init__(f"This process cannot serve {workspace}, which others do: {why}")


class ServedWorkspace:
    """One workspace: its keys, and the place of its snapshot."""

    def __init__(self, workspace_store: WorkspaceStore, snapshots: SnapshotSlot, held_page: HeldPage | None) -> None:
        self.id = workspace_store.id
        self.workspace_store = workspace_store
        self.access = AccessSlot(workspace_store.id, AccessFile(workspace_store.directory), held_page)
        self.snapshots = snapshots

    def noted(self) -> ServedVersion:
        """Return what is told of it."""
        served, refusal = self.snapshots.served, self.snapshots.refusal
        refused = None if refusal is None else refusal.version
        kept = tuple(sorted(self.snapshots.kept.versions))
        if served is None:
            return ServedVersion(None, None, refused, kept)
        return ServedVersion(served.reader.version, served.since, refused, kept)


class Workspaces:
    """The store's workspaces, kept up to date by one thread between ``start`` and ``stop``."""

    def __init__(
        self,
        store: Store,
        open_version: OpenVersion,
        clock: Callable[[], int],
        open_made: OpenMade | None = None,
        most_kept: int = 0,
        held_page: HeldPage | None = None,
    ) -> None:
        """``most_kept`` versions of each workspace stay open beside the one served; ``open_made`` opens them again.
        ``held_page`` has what the disk of a mirror takes no file for."""
        self._held_page = held_page
        self._store = store
        self._workspace_names = WorkspaceNames(store)
        self._cache = store.cache
        self._open_made = open_made
        self._most_kept = most_kept
        self._open_version = open_version
        self._clock = clock
        self._note = ServedNote(store, clock)
        self._served: dict[str, ServedWorkspace] = {}
        self._keyring = Keyring({})
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watch-store", daemon=True)
        self.complaint: str | None = None
        """Why the store itself cannot be looked at, while the opened snapshots go on being served."""

    def start(self, *, replaces: bool = False) -> None:
        """Read all keys, begin to open all snapshots, wait a moment for the small ones, and keep watching.

        With ``replaces``, wait for all that other processes over this cache serve; raises ``CannotReplace`` where some
        of it cannot be served by this one.
        """
        self._refresh()
        if replaces:
            self._wait_for(self._served_by_others())
        deadline = time.monotonic() + FIRST_WAIT_SECONDS
        for workspace in self.all():
            workspace.snapshots.wait(max(0.0, deadline - time.monotonic()))
        self._thread.start()

    def _served_by_others(self) -> set[str]:
        noted = notes(self._cache, self._clock())
        return {name for one in noted for name, served in one.workspaces.items() if served.version}

    def _wait_for(self, needed: set[str]) -> None:
        while missing := [one for one in sorted(needed) if self.served(one) is None]:
            for name in missing:
                if self._is_deleted(name):  # the others serve it from open files, and nobody could serve it after them
                    _log.info("the store does not have %s any more, which other processes still serve", name)
                    needed = needed - {name}
                    continue
                if (why := self._why_not(name)) is not None:
                    raise CannotReplace(name, why)
                self._served[name].snapshots.wait(POLL_SECONDS)
            self._refresh()
        for name in sorted(needed):
            access = self._served[name].access
            if access.list is None and access.complaint is not None:
                raise CannotReplace(name, access.complaint)

    def _is_deleted(self, name: str) -> bool:
        """Whether the store has no such workspace. One without any workspace may be in another place."""
        return name not in self._served and self.complaint is None and bool(self._served)

    def _why_not(self, name: str) -> str | None:
        """Return why a workspace cannot be served by this process; ``None`` where it may still be opened."""
        found = self._served.get(name)
        if found is None:
            return self.complaint or "the store does not have it."
        if found.snapshots.refusal is not None:
            return found.snapshots.refusal.reason
        if found.snapshots.complaint is None and not found.snapshots.is_opening:
            return "it has no current snapshot version."
        return found.snapshots.complaint

    def stop(self) -> None:
        """Stop watching and close every reader after its last request."""
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()
        self._note.take_back()
        for workspace in self.all():
            workspace.snapshots.close()

    def refresh_soon(self) -> None:
        """Look at the store now instead of at the next turn, since the caller knows that it changed."""
        self._wake.set()

    def all(self) -> list[ServedWorkspace]:
        """Return every workspace seen since the start, by ID."""
        return [workspace for _, workspace in sorted(self._served.items())]

    def authorize(self, presented: bytes | None, workspace: str, now: int) -> Key:
        """Return the key that ``presented`` is, where a request at ``now`` (UTC ms) may read ``workspace`` with it.

        Raises as ``Keyring.authorize`` does (401, 403), and ``NotReady`` before a snapshot is open: until then, the
        time zone of the key's days is not known.
        """
        snapshot = self.served(workspace)
        if snapshot is None:
            self._keyring.identify(presented, workspace)
            raise NotReady
        return self._keyring.authorize(presented, workspace, now, snapshot.zone)

    @property
    def keyring(self) -> Keyring:
        """The keys of all workspaces: another object after every edit."""
        return self._keyring

    def has(self, workspace: str) -> bool:
        """Whether the store has a workspace of this ID, served or not yet."""
        return workspace in self._served

    def served(self, workspace: str) -> OpenSnapshot | None:
        """Return the snapshot a workspace is served from now, for its facts; entries are read from a leased one."""
        found = self._served.get(workspace)
        return found.snapshots.served if found else None

    def lease(self, workspace: str) -> OpenSnapshot:
        """Return the snapshot to answer one request from, to be released after it. Raises ``NotReady``."""
        snapshot = self._served[workspace].snapshots.lease() if workspace in self._served else None
        if snapshot is None:
            raise NotReady
        return snapshot

    def of(self, workspace: str) -> ServedWorkspace:
        """Return a workspace that is served. Raises ``KeyError`` for any other."""
        return self._served[workspace]

    def draft_secret(self, workspace: str) -> bytes:
        """Return the secret that the workspace's derived draft keys are made with. Raises ``LookupError`` for a
        workspace that never had a key."""
        access = self._served[workspace].access.list
        if access is None:
            raise LookupError(workspace)
        return access.draft_secret

    def _watch(self) -> None:
        while not self._stopping.is_set():
            self._wake.wait(POLL_SECONDS)
            self._wake.clear()
            if self._stopping.is_set():
                return
            try:
                self._refresh()
            except Exception:
                _log.exception("looking at the store failed; it is tried again")

    def _refresh(self) -> None:
        for name in self._names():
            if name not in self._served:
                # A new dictionary, so that no request meets one that is changing.
                workspace_store = self._store.workspace(name)
                kept = KeptVersions(workspace_store, self._open_made, self._most_kept, self._clock)
                slot = SnapshotSlot(workspace_store, self._open_version, self._clock, kept, self._held_page)
                served = ServedWorkspace(workspace_store, slot, self._held_page)
                self._served = {**self._served, name: served}
        changed = [workspace.access.refresh() for workspace in self.all()]
        if any(changed):
            self._keyring = Keyring({w.id: w.access.list for w in self.all() if w.access.list is not None})
        for workspace in self.all():
            workspace.snapshots.refresh()
        self._note.write({workspace.id: workspace.noted() for workspace in self.all()})

    def _names(self) -> list[str]:
        try:
            names = self._workspace_names.look()
        except (ParquetryError, OSError) as error:
            if self.complaint != str(error):
                _log.error("the store cannot be looked at: %s What is open is still served.", error)
            self.complaint = str(error)
            return []
        if self.complaint is not None:
            _log.info("the store is back")
        self.complaint = None
        return names

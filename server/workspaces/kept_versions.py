"""The versions of a workspace that stay open beside the one served, for requests that are pinned to them.

A version is kept from when another takes its place, or from when a request asks for it whose files are still in the
cache. Those not asked for the longest are closed first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeAlias
from zoneinfo import ZoneInfo

from engine.read.reader.reader import Reader
from server.workspaces.open_snapshot import OpenSnapshot
from snapshots.store.manifest import MANIFEST
from snapshots.store.store import WorkspaceStore

OpenMade: TypeAlias = Callable[[WorkspaceStore, str], Reader | None]
"""Open one version from files that are in the cache already; ``None`` where some are not. Raises a ``ParquetryError``
where the version cannot be read."""


class KeptVersions:
    """At most ``most`` open versions of one workspace. Any number of threads may use it at the same time."""

    def __init__(
        self, workspace_store: WorkspaceStore, open_made: OpenMade | None, most: int, clock: Callable[[], int]
    ) -> None:
        self._workspace_store = workspace_store
        self._open_made = open_made
        self._most = most
        self._clock = clock
        self._kept: OrderedDict[str, OpenSnapshot] = OrderedDict()
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._closed = False

    @property
    def versions(self) -> list[str]:
        """The versions that are open, the one used last at the end."""
        with self._lock:
            return list(self._kept)

    def keep(self, snapshot: OpenSnapshot) -> None:
        """Keep a version that is leased by the caller, whose lease this takes over."""
        with self._lock:
            gone = [snapshot]
            if not self._closed and self._most and not snapshot.reader.is_damaged:
                before = self._kept.pop(snapshot.reader.version, None)
                self._kept[snapshot.reader.version] = snapshot
                gone = [] if before is None else [before]
                while len(self._kept) > self._most:
                    gone.append(self._kept.popitem(last=False)[1])
        for one in gone:
            one.release()

    def lease(self, version: str) -> OpenSnapshot | None:
        """Return a version that is open, to be released after use; ``None`` for any other."""
        with self._lock:
            snapshot = self._kept.get(version)
            if snapshot is None or not snapshot.acquire():
                return None
            self._kept.move_to_end(version)
            return snapshot

    def open(self, version: str) -> OpenSnapshot | None:
        """Open a version of the store from files that are in the cache, and return it as ``lease`` does; one at a time.

        ``None`` where it has to be made first, which no request may cause. Raises a ``ParquetryError``.
        """
        if self._open_made is None or not self._most:
            return None
        with self._opening:
            leased = self.lease(version)
            if leased is not None:
                return leased
            reader = self._open_made(self._workspace_store, version)
            if reader is None:
                return None
            opened = OpenSnapshot(reader, ZoneInfo(reader.manifest.workspace.timezone), self._clock())
            opened.acquire()
            self.keep(opened)
            return opened

    def drop_pruned(self) -> None:
        """Close the versions that are not in the store any more."""
        with self._lock:
            there = self._workspace_store.snapshots
            gone = [self._kept.pop(one) for one in list(self._kept) if not (there / one / MANIFEST).exists()]
        for one in gone:
            one.release()

    def close(self) -> None:
        """Close all versions, each after its last request, and keep no other."""
        with self._lock:
            self._closed = True
            gone = list(self._kept.values())
            self._kept.clear()
        for one in gone:
            one.release()

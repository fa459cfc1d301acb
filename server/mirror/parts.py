"""The reader's parts of a mirrored version: fetched where another machine has made them, else shared once made."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from engine.cache.parts import Part, parts_of
from engine.cache.places import CachePlaces
from engine.making.shared_parts import SHARED, fetch_parts, push_parts
from server.logs import LOGGER
from snapshots.problems import ParquetryError
from snapshots.store.durable import StoreError
from snapshots.store.leases import Lease
from snapshots.store.objects import Objects, StoreUnreachable
from snapshots.store.store import WorkspaceStore

LEASE: Final = "pushing.json"
LEASE_MS: Final = 600_000
"""Milliseconds for which one machine pushes, and the others leave it to that one."""
AGAIN_SECONDS: Final = 60.0

_log = logging.getLogger(LOGGER)


class PartSharing:
    """The parts of one workspace. One thread at a time calls it."""

    def __init__(
        self, objects: Objects, place: WorkspaceStore, places: CachePlaces, holder: str, clock: Callable[[], int]
    ) -> None:
        """``holder`` names this mirror among those of all machines."""
        self._objects = objects
        self._place = place
        self._places = places
        self._lease = Lease(objects, f"{place.id}/{SHARED}/{LEASE}", holder, LEASE_MS)
        self._clock = clock
        self._unshared: tuple[str, list[Part]] | None = None
        """The version whose parts the store does not have all, and those missing."""
        self._next_try = 0.0

    def fetch(self, version: str) -> None:
        """Have the parts of a version in the cache that the store has. Without them, the reader makes its own."""
        self._unshared, self._next_try = None, 0.0
        parts = [part for of_api in parts_of(self._place.manifest(version)).values() for part in of_api]
        try:
            missing = fetch_parts(self._objects, self._place.id, self._places, version, parts)
        except (ParquetryError, OSError) as error:
            _log.warning(
                "%s: cache files of snapshot version %s could not be downloaded: %s", self._place.id, version, error
            )
            return
        if missing:
            self._unshared = version, missing

    def is_due(self) -> bool:
        """Whether this machine has made parts that the store does not have."""
        if self._unshared is None or time.monotonic() < self._next_try:
            return False
        return self._places.version(self._unshared[0]).exists()

    def share(self) -> None:
        """Put them into the store, unless another machine is at it. What fails is tried again, but where the store
        refuses this machine."""
        if self._unshared is None:
            return
        _, parts = self._unshared
        self._next_try = time.monotonic() + AGAIN_SECONDS
        try:
            if not self._lease.take(self._clock()):
                return
            pushed = push_parts(self._objects, self._place.id, self._places, parts)
            self._lease.give_back(self._clock())
        except StoreUnreachable:
            return
        except (StoreError, OSError) as error:
            _log.warning("%s: parts of the cache are not shared with other machines: %s", self._place.id, error)
        else:
            _log.info("%s: shared %d parts of the cache with other machines", self._place.id, pushed)
        self._unshared = None

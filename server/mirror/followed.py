"""One workspace of a bucket in the mirror: its keys and current version, each as it last was whole and valid."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from contextlib import suppress
from typing import Final

import msgspec

from engine.access.keys.access import ACCESS, ACCESS_CODEC
from engine.read.files.paths import CachePaths
from engine.read.materialise.materialise import drop_pruned
from server.logs import LOGGER
from server.mirror.parts import fetch_made
from snapshots.problems import ParquetryError
from snapshots.store.carrying import DROPPED, carry, carry_assets, read_manifest, version_folder
from snapshots.store.current import CURRENT, CURRENT_CODEC, Current
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.document import DamagedDocument
from snapshots.store.durable import StoreError, is_of_this_disk
from snapshots.store.manifest import MANIFEST, ManifestError
from snapshots.store.objects import ANY, UNCHANGED, DamagedObject, ObjectContent, Objects, StoreUnreachable
from snapshots.store.staging import delete
from snapshots.store.store import WorkspaceStore
from snapshots.store.verification import wrong_sizes

LEAST_FREE: Final = 1 << 30
"""Bytes to keep free on the disk, or a twentieth of the disk if that is less. With less free space, only the current
version and the one before it stay in the mirror."""
FIRST_PAUSE_MS: Final = 1000
LONGEST_PAUSE_MS: Final = 300_000
"""The longest pause, in milliseconds, before the download of a version is tried again; each pause is twice the one
before."""

_log = logging.getLogger(LOGGER)


class Failed(msgspec.Struct, frozen=True):
    """A version that could not be downloaded whole."""

    version: str
    reason: str
    pause: int
    """Milliseconds from the failure to the next try."""
    retry_at: int
    """The instant of the next try, UTC milliseconds."""
    is_here: bool = False
    """Whether the cause lies in this machine, as a full disk, and not in the store."""


class FollowedWorkspace:
    """One workspace. ``look``, ``pull`` and ``wait`` are called by one thread; versions are pulled by others."""

    def __init__(
        self,
        objects: Objects,
        workspace_store: WorkspaceStore,
        cache: CachePaths,
        clock: Callable[[], int],
        kept_ms: int,
        held: Mapping[str, bytes],
    ) -> None:
        """``workspace_store`` is the workspace in the mirror, in which versions stay for ``kept_ms`` after others took
        their places; ``held`` has the workspace's documents in the mirror's page of held documents, by name."""
        self.id: Final = workspace_store.id
        self.workspace_store: Final = workspace_store
        self._objects = objects
        self._mirror = DirectoryObjects(workspace_store.directory.parent)
        self._cache = cache
        self._clock = clock
        self._kept_ms = kept_ms
        self._seen: dict[str, ObjectContent] = {}
        """The content that was last read from the store, by key."""
        self._complaints: dict[str, str] = {}
        self._wanted: tuple[Current, bytes] | None = None
        """The version that is current in the store, with the document that says so."""
        self._pulling: Future[None] | None = None
        self._is_checked = False
        """Whether the version that is current in the mirror was compared with the store's since the start."""
        self.failed: Failed | None = None
        self.held: dict[str, bytes] = dict(held)
        """Documents, by name, that the disk had no room for as files. They take precedence over files once the mirror
        has written them into its page of held documents."""

    def look(self) -> None:
        """Ask the store for the keys and the current version, and take over what has changed: keys at once, a version
        as soon as ``pull`` has it whole. Raises ``StoreError`` where the store fails."""
        self._look_at_access()
        self._look_at_current()

    @property
    def lacks_version(self) -> bool:
        """Whether the store's current version differs from the mirror's."""
        return self._wanted is not None and self._mirrored(CURRENT) != self._wanted[1]

    def is_refused(self, name: str) -> bool:
        """Whether the store's document of this name cannot be taken over: it is damaged, or gone."""
        return name in self._complaints

    def settle(self) -> None:
        """Write the documents that the disk had no room for, if there is room by now."""
        if self._pulling is None or self._pulling.done():
            for name, data in list(self.held.items()):
                self._put(name, data)

    def _put(self, name: str, data: bytes) -> None:
        """Put a document into the mirror: as a file, or into ``held`` where the disk takes no file."""
        try:
            self._mirror.replace(f"{self.id}/{name}", data, ANY, private=name == ACCESS)
        except StoreError as error:
            if name not in self.held:
                _log.error("%s: %s It is followed without a file until there is room.", self.id, error)
            self.held[name] = data
        else:
            if self.held.pop(name, None) is not None:
                _log.info("%s: %s has been written", self.id, name)

    def pull(self, threads: Executor) -> None:
        """Begin to pull the version that is current in the store, unless the mirror follows it already, or it could
        not be had a moment ago."""
        if self._pulling is not None:
            if not self._pulling.done():
                return
            pulled, self._pulling = self._pulling, None
            pulled.result()
        wanted = self._wanted
        if wanted is None or (self.failed is not None and self._waits(self.failed, wanted[0].version)):
            return
        if self._mirrored(CURRENT) != wanted[1] or not self._is_checked:
            self._pulling = threads.submit(self._take_over, *wanted)
            return
        self.failed = None

    def wait(self) -> None:
        """Wait until nothing is being pulled."""
        if self._pulling is not None:
            self._pulling.result()

    def _waits(self, failed: Failed, version: str) -> bool:
        return failed.version == version and 0 < failed.retry_at - self._clock() <= failed.pause  # else set back

    def _look_at_access(self) -> None:
        found = self._changed(ACCESS)
        if found is None:
            return
        try:
            ACCESS_CODEC.decode(found, f"{self._objects.location}/{self.id}/{ACCESS}")
        except DamagedDocument as error:
            self._complain(ACCESS, f"{error} The last good list of keys stays in force.")
            return
        self._put(ACCESS, found)

    def _look_at_current(self) -> None:
        found = self._changed(CURRENT)
        if found is None:
            return
        try:
            current = CURRENT_CODEC.decode(found, f"{self._objects.location}/{self.id}/{CURRENT}")
        except DamagedDocument as error:
            self._complain(CURRENT, f"{error} The last good snapshot version is still served.")
            return
        self._wanted = current, found
        self._withdraw(current)

    def _withdraw(self, current: Current) -> None:
        """Delete the manifests of versions that were pruned in the store, so that these versions are no longer read,
        even while another is pulled. The version that is served stays until another has taken its place."""
        with suppress(OSError, ParquetryError):
            served = self.workspace_store.current()
            for version in self.workspace_store.versions():
                if not current.was_current(version) and (served is None or version != served.version):
                    (self.workspace_store.snapshots / version / MANIFEST).unlink(missing_ok=True)

    def _changed(self, name: str) -> bytes | None:
        """Return the store's document of this name if it has changed since the last call, otherwise ``None``."""
        key = f"{self.id}/{name}"
        seen = self._seen.get(name)
        found = self._objects.read(key) if seen is None else self._objects.read_if_changed(key, seen.tag)
        if found is UNCHANGED:
            return None
        if found is None:
            if self._mirrored(name) is not None:
                self._complain(
                    name, f"{self._objects.location}/{key} is missing. What was there before stays in force."
                )
            self._seen.pop(name, None)
            return None
        self._seen[name] = found
        if self._complaints.pop(name, None) is not None:
            _log.info("%s: %s in the store has changed", self.id, name)
        return found.data

    def _mirrored(self, name: str) -> bytes | None:
        held = self.held.get(name)
        if held is not None:
            return held
        found = self._mirror.read(f"{self.id}/{name}")
        return None if found is None else found.data

    def _complain(self, name: str, complaint: str) -> None:
        if self._complaints.get(name) != complaint:
            _log.error("%s: %s", self.id, complaint)
        self._complaints[name] = complaint

    def _take_over(self, current: Current, document: bytes) -> None:
        version, digest = current.version, current.manifests.get(current.version)
        try:
            self._sweep(version)
            if self._has_whole(version, digest):
                carry_assets(self._objects, self._mirror, self.workspace_store.manifest(version, current.manifests))
            else:
                carry(self._objects, self._mirror, self.id, version, digest=digest)
                _log.info("%s: downloaded snapshot version %s", self.id, version)
            fetch_made(self._objects, self.workspace_store.manifest(version, current.manifests), self._cache)
            if not self._is_overtaken(version):
                self._put(CURRENT, document)
        except (ParquetryError, OSError) as error:
            is_passing = isinstance(error, StoreUnreachable)
            self._fail(version, str(error), is_passing=is_passing, is_here=is_of_this_disk(error))
            return
        except Exception as error:
            _log.exception("%s: downloading snapshot version %s failed", self.id, version)
            self._fail(version, f"{type(error).__name__}", is_passing=False)
            return
        self._is_checked = True
        if self.failed is not None:
            _log.info("%s: snapshot version %s has now been downloaded", self.id, version)
            self.failed = None
        self._withdraw(current)
        self._drop_old(None)
        # Which notes in the mirror's document what it drops, and forgets what a killed prune of the store does.
        if not self._is_overtaken(version) and self._mirrored(CURRENT) != document:
            self._put(CURRENT, document)

    def _is_short_of_room(self) -> bool:
        try:
            disk = shutil.disk_usage(self.workspace_store.directory)
        except OSError:
            return False
        return disk.free < min(disk.total // 20, LEAST_FREE)

    def _has_whole(self, version: str, digest: str | None) -> bool:
        """Whether the mirror has the version. The manifest of one that differs from the store's, or of which files are
        missing, is deleted, so that it is downloaded again: that much a power cut may take, or somebody who makes
        room."""
        if not self.workspace_store.has(version):
            return False
        try:
            manifest, _ = read_manifest(self._mirror, self.id, version, digest)
        except (DamagedObject, ManifestError):
            pass
        else:
            wrong = next(wrong_sizes(self._mirror, manifest), None)
            if wrong is None:
                return True
            _log.error("%s: snapshot version %s is not whole here: %s. It is completed.", self.id, version, wrong)
        self._mirror.delete([f"{version_folder(self.id, version)}/{MANIFEST}"])
        return False

    def _is_overtaken(self, version: str) -> bool:
        """Whether another version, which the mirror has already, has become current: a rollback ends the pull."""
        wanted = self._wanted
        return wanted is not None and wanted[0].version != version and self.workspace_store.has(wanted[0].version)

    def _fail(self, version: str, reason: str, *, is_passing: bool, is_here: bool = False) -> None:
        before = self.failed
        again = before is not None and before.version == version
        pause = FIRST_PAUSE_MS
        if before is not None and again and not is_passing:
            pause = min(before.pause * 2, LONGEST_PAUSE_MS)
        if before is None or not again or before.reason != reason:
            _log.error(
                "%s: snapshot version %s cannot be downloaded: %s The previous one is still served.",
                self.id,
                version,
                reason,
            )
        self.failed = Failed(version, reason, pause, self._clock() + pause, is_here)
        if self._is_short_of_room():
            self._drop_old(version)

    def _sweep(self, under_way: str | None) -> None:
        """Delete the files of unfinished pulls, except the one ``under_way``, and of versions that were being dropped
        when the process was killed.

        Files that cannot be deleted stay.
        """
        with suppress(OSError):
            for entry in self.workspace_store.snapshots.iterdir():
                if entry.name[0] == ".":
                    continue
                if (entry / DROPPED).exists():
                    (entry / MANIFEST).unlink(missing_ok=True)  # first: what is left without it is no version
                    delete(entry)
                elif entry.name != under_way and not (entry / MANIFEST).exists():
                    delete(entry)

    def _drop_old(self, under_way: str | None) -> None:
        """Delete the versions that are not kept any longer, and then the files that ``_sweep`` deletes."""
        if CURRENT in self.held:  # the file names another version
            return
        with suppress(ParquetryError):  # full, or damaged: it is done after the next version
            now = self._clock()
            self.workspace_store.prune_left(now if self._is_short_of_room() else now - self._kept_ms)
            self._sweep(under_way)
            drop_pruned(self._cache, self.workspace_store.snapshots)

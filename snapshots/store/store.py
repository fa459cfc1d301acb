"""The store: workspaces, their published versions, and which of them is current (design section 3).

    <root>/<workspace id>/current                    one JSON line: version, previous, activated_at, activated_by
    <root>/<workspace id>/snapshots/<version>/…      immutable; a directory without manifest.json is no version
    <root>/<workspace id>/assets/…                   files that content names, shared by the versions
    <root>/<workspace id>/asset_use.json             who is about to name or to delete some of them
    <root>/<workspace id>/held.json                  content that was rolled back from
    <root>/.cache/                                   files that can be made again

A store is a directory or is in a bucket, in the same layout. What is in a bucket is worked on in a directory of this
machine, which has versions that were built here or asked for: ``Store.root``. For a directory the two are one.

Reading takes no lock and writes nothing, so a read-only store can be served.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec

from snapshots.problems import ParquetryError
from snapshots.store.assets.files import Read, keep_assets
from snapshots.store.assets.use import leased_assets
from snapshots.store.buckets.bucket_url import is_bucket
from snapshots.store.carrying import (
    ASSETS,
    SNAPSHOTS,
    Progress,
    carry,
    carry_assets,
    file_key,
    listed_versions,
    manifest_digest,
    missing_assets,
    read_manifest,
    version_folder,
)
from snapshots.store.changes import announce
from snapshots.store.current import (
    CURRENT,
    VERSION,
    ActivationConflict,
    Current,
    conflict,
    current_document,
    kept_version,
)
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.document import DamagedDocument, Document
from snapshots.store.durable import StoreError, writing
from snapshots.store.holds.holds import Hold, Holds, hold_on
from snapshots.store.locations import open_objects, working_directory
from snapshots.store.manifest import MANIFEST, DataFile, Manifest
from snapshots.store.objects import ANY, Conflict, Expected, MissingObject, Objects, StoreUnreachable
from snapshots.store.pruning import Chosen, prune
from snapshots.store.staging import Staging, VersionExists, publish, seal, staged, sweep
from snapshots.store.verification import altered_files, complaints, drop_damaged, missing_files, touched_files

_WORKSPACE_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


class MissingVersion(StoreError):
    """The store has no such version."""


class Store(msgspec.Struct, frozen=True):
    """The snapshots and keys of any number of workspaces."""

    root: Path
    """The directory that is the store, or in which this machine works on the one in ``bucket``."""
    cache: Path
    """The directory of build caches and readers' files: deleting it only costs time."""
    bucket: Objects | None = None
    """Where the store is, if not in ``root``."""

    @property
    def objects(self) -> Objects:
        """The objects of the store, wherever it is."""
        return self.bucket or DirectoryObjects(self.root)

    @property
    def location(self) -> str:
        """Where the store is, for messages."""
        return self.objects.location

    def workspaces(self) -> list[str]:
        """Return the IDs of the workspaces that have been built here, sorted; none where there is no store yet."""
        return [name for name in self.objects.folders("") if self._is_there(name)]

    def _is_there(self, name: str) -> bool:
        try:
            return self.has(name)
        except StoreUnreachable:
            raise
        except StoreError:  # whoever works on it is told; the other workspaces go on
            return True

    def has(self, workspace_id: str) -> bool:
        """Return whether such a workspace has been built here."""
        if not _WORKSPACE_ID.fullmatch(workspace_id):
            return False
        objects = self.objects
        return SNAPSHOTS in objects.folders(workspace_id) or objects.read(f"{workspace_id}/{CURRENT}") is not None

    def workspace(self, workspace_id: str) -> WorkspaceStore:
        """Return a workspace's part of the store, which need not exist yet. Raises ``StoreError`` for a wrong ID."""
        if not _WORKSPACE_ID.fullmatch(workspace_id):
            raise StoreError(
                f"{workspace_id!r} is not a workspace ID: write 1 to 63 of a-z, 0-9 and '-', not beginning with '-'."
            )
        return WorkspaceStore(workspace_id, self.root / workspace_id, self.bucket)


def open_store(location: str | Path, *, cache: Path | None = None) -> Store:
    """Return the store at ``location``: a directory that need not exist yet (``~`` is the user's home), or the URL of
    a place in a bucket, as ``locations`` has them.

    ``cache`` defaults to ``.cache`` inside the directory; for a bucket, to a folder of its own where the user's
    programs keep their caches. Raises ``StoreError`` for another URL, and without the extra that reads buckets.
    """
    if not is_bucket(location):
        root = Path(location).expanduser()
        return Store(root, cache if cache is not None else root / ".cache")
    objects = open_objects(location)
    root = working_directory(objects.location, cache)
    return Store(root, root / ".cache", objects)


def new_version(now: int, content: str) -> str:
    """Return the name of a version built at ``now`` (UTC milliseconds): ``YYYYMMDDTHHMMSSmmmZ-<8 hex of content>``."""
    seconds, milliseconds = divmod(now, 1000)
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y%m%dT%H%M%S}{milliseconds:03d}Z-{content[:8]}"


class WorkspaceStore(msgspec.Struct, frozen=True):
    """The versions of one workspace and the pointer to the current one."""

    id: str
    directory: Path
    """The workspace's part of ``Store.root``."""
    bucket: Objects | None = None

    @property
    def objects(self) -> Objects:
        """The objects of the store, of which this workspace's are those in the folder ``id``."""
        return self.bucket or self.local

    @property
    def local(self) -> Objects:
        """The objects of the directory that is the store, or in which this machine works on it."""
        return DirectoryObjects(self.directory.parent)

    @property
    def snapshots(self) -> Path:
        """The directory of versions on this machine; ``bring`` has one in it."""
        return self.directory / SNAPSHOTS

    @property
    def assets(self) -> Path:
        """The files that content names, each by a name made of its content; versions share them."""
        return self.directory / ASSETS

    def current(self) -> Current | None:
        """Return the content of ``current``, ``None`` before the first activation.

        Raises ``DamagedDocument``, and ``StoreError`` when the file cannot be read.
        """
        return self._current.read()

    def announce(self) -> None:
        """Tell the readers of a bucket that a document of the workspace has changed, or is about to. Those of a
        directory look at it themselves."""
        if self.bucket is not None:
            announce(self.bucket, self.id)

    def versions(self) -> list[str]:
        """Return the versions that have a manifest, newest first."""
        return listed_versions(self.objects, self.id)

    def has(self, version: str) -> bool:
        """Return whether there is such a version, whole or damaged."""
        return bool(VERSION.fullmatch(version)) and self.objects.read(self._key(version, MANIFEST)) is not None

    def find(self, prefix: str) -> str:
        """Return the version that begins with ``prefix``. Raises ``MissingVersion``, or ``StoreError`` for several."""
        found = [version for version in self.versions() if version.startswith(prefix)]
        if not found:
            raise self._missing(prefix)
        if len(found) > 1:
            raise StoreError(
                f"{prefix!r} is the beginning of {len(found)} snapshot versions ({found[-1]} to {found[0]}). "
                "Write more of it."
            )
        return found[0]

    def unused_version(self, now: int, content: str) -> str:
        """Return ``new_version`` at ``now`` or, if that is taken, at the first free millisecond after it."""
        taken = {*self.objects.folders(f"{self.id}/{SNAPSHOTS}"), *self.local.folders(f"{self.id}/{SNAPSHOTS}")}
        while (version := new_version(now, content)) in taken:
            now += 1
        return version

    def path(self, version: str, relative: str) -> Path:
        """Return the path of a version's file on this machine, where ``bring`` and ``bring_file`` have it.

        Raises ``StoreError`` for names that lead elsewhere.
        """
        if not VERSION.fullmatch(version):
            raise self._missing(version)
        parts = PurePosixPath(relative)
        if parts.is_absolute() or ".." in parts.parts or "\0" in relative:
            raise StoreError(f"snapshot version {version} of {self.id}: {relative!r} is not a path inside a snapshot.")
        return self.snapshots / version / parts

    def digests(self) -> Mapping[str, str]:
        """Return the SHA-256 of manifests, by version, that ``current`` names: none where it is damaged.

        Raises ``StoreError`` when the file cannot be read.
        """
        try:
            found = self.current()
        except DamagedDocument:  # it is told by whoever needs to know what is current
            return {}
        return found.manifests if found is not None else {}

    def manifest(self, version: str, digests: Mapping[str, str] | None = None) -> Manifest:
        """Return a version's manifest. ``digests`` spares who reads several the reading of ``self.digests``.

        Raises ``MissingVersion``, ``DamagedObject`` where it is not the one that ``current`` names, ``ManifestError``
        when it is damaged or too new, and ``StoreError`` when it cannot be read, is another version's or workspace's,
        or names files outside the version.
        """
        manifest, _ = self._read_manifest(version, self.digests() if digests is None else digests)
        return manifest

    def bring(self, version: str, progress: Progress | None = None) -> Path:
        """Return the directory of this machine with all files of a version, fetched from the bucket if need be.

        Raises as ``manifest``, and ``DamagedObject`` where a file is not as recorded.
        """
        digests = self.digests()
        self.manifest(version, digests)
        carry(self.objects, self.local, self.id, version, progress, digest=digests.get(version))
        return self.snapshots / version

    def bring_file(self, version: str, file: DataFile) -> Path:
        """Return the path of one file of a version on this machine, fetched if need be. Raises as ``bring``."""
        path = self.path(version, file.path)
        if not path.exists():
            self.objects.fetch(file_key(self.objects, self.id, version, file), path, file.bytes, file.sha256)
        return path

    def stage(self, version: str) -> AbstractContextManager[Staging]:
        """Make a directory to build ``version`` in, beside its destination; deleted after the block unless published.

        Also deletes the files that killed builds left. Raises ``StoreError`` when the disk refuses, in the block too.
        """
        if not VERSION.fullmatch(version):
            raise StoreError(f"{version!r} is not a snapshot version: they are named YYYYMMDDTHHMMSSmmmZ-<8 hex>.")
        return staged(self.snapshots, version)

    def publish(self, staging: Staging, manifest: Manifest, progress: Progress | None = None) -> None:
        """Make a staged version a snapshot, in one step that survives a power cut; it is not current yet.

        Raises ``VersionExists``, and ``StoreError`` when the disk or the bucket refuses or the files are not the
        manifest's.
        """
        if (manifest.workspace.id, manifest.version) != (self.id, staging.version):
            raise StoreError(
                f"the manifest is that of snapshot version {manifest.version} of {manifest.workspace.id}, "
                f"but version {staging.version} of {self.id} is staged."
            )
        for file in manifest.files:
            self.path(manifest.version, file.path)
        with writing(staging.directory):
            seal(staging, manifest)
            publish(staging, self.snapshots / staging.version)
        try:
            carry(self.local, self.objects, self.id, staging.version, progress)
        except Conflict as conflict:
            raise VersionExists(str(conflict)) from None

    @contextmanager
    def keeping_assets(self, root: Path, named: Mapping[str, str], read: Read) -> Iterator[Callable[[], None]]:
        """Copy the files at ``root`` that content names to this machine, as ``keep_assets``; prunes leave them
        for the block, in which a version that names them is published. Gives the function to be called right before
        that: it raises ``StoreError`` where that took too long."""
        with leased_assets(self.local, self.id, [f"{self.id}/{ASSETS}/{name}" for name in named]) as check:
            keep_assets(self.assets, root, named, read)
            yield check

    def has_assets(self, manifest: Manifest) -> bool:
        """Return whether all assets that a version names are in the store."""
        return not missing_assets(self.objects, manifest)

    def restore_assets(self, version: str) -> None:
        """Put assets of this machine into the bucket that a version there names and that are missing. Raises as
        ``publish``, and ``MissingObject`` where this machine does not have one either."""
        carry_assets(self.local, self.objects, self.manifest(version))

    def holds(self) -> tuple[Hold, ...]:
        """Return the content that was rolled back from, the newest first, which no build makes current again."""
        return self._holds.read()

    def hold_on(self, content: str, sources: str) -> Hold | None:
        """Return the hold on content, or on the files it is made of; ``None`` where it is not held."""
        return hold_on(self.holds(), content, sources)

    def activate(
        self,
        version: str,
        *,
        expected: str | Literal[Expected.ANY] | None,
        by: str,
        now: int,
        holds_returns: bool = False,
        opens: bool = False,
    ) -> Current:
        """Make ``version`` current at ``now`` (UTC milliseconds), if ``expected`` is the current version until then.

        ``expected=None`` means that nothing may be current yet; with ``ANY`` any version may, and a damaged
        ``current`` is written again, without its history. Activating the current version changes nothing. Raises
        ``ActivationConflict``, ``MissingVersion``, and ``StoreError`` or ``ManifestError`` when the version's
        files are missing or not of the recorded size, or the disk refuses: the old version stays current. From then on
        its manifest is the one that it was then: activating the current version again records that where it was not.

        With ``opens``, files of another SHA-256 than recorded are damage, too: all are read, but in a bucket only those
        that were written after the version's manifest.

        Content that is made current is not held any more. With ``holds_returns``, where this goes back to a version
        that was current before, the content that was current until then is held, as after ``rollback``.
        """

        def moved(found: Current | None) -> Current:
            before = found.version if found is not None else None
            if expected is not ANY and expected != before:
                raise conflict(self.id, expected, found, f"{version} was not activated")
            digest = self._check_usable(version, found, opens=opens)
            if found is None:
                return Current(version, (), now, by, manifests={version: digest})
            if found.version != version:
                return found.followed_by(version, (found.version, *found.previous), now, by, digest)
            return found.with_manifests({**found.manifests, version: digest})

        left = self._version_to_leave()
        is_return = holds_returns and left is not None and left.is_return(left.version, version)
        with self._held(left.version if left is not None and is_return else None, by, now):
            after = self._move(moved, mends=expected is ANY)
        self._lift(version, None if left is None else left.version, is_return=is_return)
        return after

    def rollback(self, *, by: str, now: int, expected: str | Literal[Expected.ANY] = ANY) -> Current:
        """Make the version before the current one current again; a second call goes back one more (decision 50).

        The content that was current until then is held: no build makes it current again by itself. Raises
        ``StoreError`` when there is none, ``MissingVersion`` when it was pruned, and ``ActivationConflict`` when
        another version than ``expected`` is current by now.
        """
        while True:
            left = self.current()
            seen = left.version if expected is ANY and left is not None else expected
            try:
                return self._roll_back(left, by, now, seen)
            except ActivationConflict:
                if expected is not ANY:
                    raise

    def _roll_back(self, left: Current | None, by: str, now: int, expected: str | Literal[Expected.ANY]) -> Current:
        def moved(found: Current | None) -> Current:
            if expected is not ANY and (found is None or found.version != expected):
                raise conflict(self.id, expected, found, "nothing was rolled back")
            if found is None or not found.previous:
                raise StoreError(
                    f"{self.id}: no snapshot version was current before. `cms snapshot list` shows what there is."
                )
            version, *rest = found.previous
            digest = self._check_usable(version, found, opens=True)
            return found.followed_by(version, rest, now, by, digest)

        with self._held(left.version if left is not None and left.previous else None, by, now):
            after = self._move(moved, mends=False)
        self._lift(after.version, None if left is None else left.version, is_return=True)
        return after

    def verify(self, version: str, progress: Progress | None = None) -> list[str]:
        """Return the faults of a version: files of another size or SHA-256, or unreadable. Empty: it is whole.

        A damaged ``current`` is one, too, since it does not say any more which manifest is the right one. ``progress``
        is called with ("verifying", bytes done, bytes in all). Raises ``MissingVersion``.
        """
        found = []
        try:
            self.current()
        except DamagedDocument as error:
            found.append(str(error))
        try:
            manifest = self.manifest(version)
        except (MissingVersion, StoreUnreachable):
            raise
        except ParquetryError as error:
            return [*found, str(error)]
        return [*found, *complaints(self.objects, manifest, progress)]

    def prune(self, keep: int, spared: Collection[str] = ()) -> tuple[list[str], int]:
        """Drop all but the newest ``keep`` versions, never the current one, the one before it, nor those ``spared``.
        As long as nothing is current, none goes: any may be about to be.

        Returns the dropped versions, newest first, and the bytes freed. Also deletes the files that killed
        builds left; builds at work are left alone, and open files stay readable. Raises
        ``ValueError`` for a ``keep`` below 1, ``StoreError`` when the current version is not known.
        """
        if keep < 1:
            raise ValueError("keep at least 1 snapshot version")

        def chosen(versions: list[str], found: Current | None) -> set[str]:
            if found is None:
                return set()
            return set(versions[keep:]) - {found.version, *found.previous[:1]} - set(spared)

        return self._prune(chosen)

    def prune_left(self, before: int) -> tuple[list[str], int]:
        """Drop the versions that others took the place of before an instant (UTC milliseconds), never the current one
        nor the one before it; otherwise as ``prune``."""

        def chosen(versions: list[str], found: Current | None) -> list[str]:
            if found is None:
                return []
            stay = (found.version, *found.previous[:1])
            return [one for one in versions if one not in stay and (found.left_at(one) or 0) < before]

        return self._prune(chosen)

    def withdraw(self, version: str) -> tuple[list[str], int]:
        """Drop one version, of which readers then tell nothing any more; otherwise as ``prune``.

        The one before the current one goes too, and can then not be rolled back to. Raises ``StoreError`` for the
        current version, as long as none is, and for one that somebody is carrying here; and ``MissingVersion``.
        """

        is_current = StoreError(
            f"{version} is the current snapshot version of {self.id}, which clients are answered from. Make another "
            "one current first: `cms snapshot build`, `activate` or `rollback`."
        )

        def chosen(versions: list[str], found: Current | None) -> set[str]:
            if version not in versions:
                raise self._missing(version)
            if found is None:
                raise StoreError(
                    f"{self.id} has no current snapshot version yet, and {version} may be about to be. Make another "
                    "one current first: `cms snapshot build` or `activate`."
                )
            if found.version == version:
                raise is_current
            return {version}

        dropped, freed = self._prune(chosen)
        if version not in dropped:
            found = self.current()
            if found is None or version not in found.dropping:  # it was made current meanwhile
                raise is_current
            raise StoreError(
                f"{version} is being pushed to {self.objects.location}, or a push of it was cut off in the last 24 "
                "hours. It is not made current any more; `cms snapshot prune` deletes it once no push can complete it."
            )
        return dropped, freed

    def _prune(self, chosen: Chosen) -> tuple[list[str], int]:
        """Drop the versions that are ``chosen``, but for one that is made current meanwhile."""

        def protected() -> set[str]:
            found = self.current()
            return {found.version} if found is not None else set()

        self.announce()
        with writing(self.snapshots):
            if self.snapshots.is_dir():
                sweep(self.snapshots)
            pruned = prune(self.objects, self.local, self.id, chosen, protected)
        self.announce()
        return pruned

    @property
    def _holds(self) -> Holds:
        return Holds(self.objects, self.id)

    def _version_to_leave(self) -> Current | None:
        """Return the content of ``current``, ``None`` where it is damaged, too: then it is not known what is left."""
        try:
            return self.current()
        except DamagedDocument:
            return None

    @contextmanager
    def _held(self, version: str | None, by: str, now: int) -> Iterator[None]:
        """Hold the content of a version, unless it is ``None``, from before it is left in the block. Where it is not
        left after all, it is not held either."""
        if version is None:
            yield
            return
        try:
            manifest = self.manifest(version)
            hold = Hold(version, manifest.content, now, by, manifest.known_sources)
        except StoreUnreachable:
            raise
        except ParquetryError:  # it is damaged; its name has the beginning of the digest
            hold = Hold(version, version.rpartition("-")[2], now, by)
        self._holds.add(hold)
        try:
            yield
        except BaseException:
            with suppress(StoreError):  # it holds nothing back while it is current, and is lifted when that is left
                found = self.current()
                if found is not None and found.version == version:
                    self._holds.remove(lambda one: one == hold)
            raise

    def _lift(self, version: str, left: str | None, *, is_return: bool) -> None:
        """End the holds on what has become current; and one on the version that was ``left`` in another way than by
        going back, which a process left that was killed."""
        if version == left:
            return
        with suppress(StoreError):  # made current is made current: a hold on it holds nothing back meanwhile
            if self.holds():
                self._lift_met(self.manifest(version), left, is_return=is_return)

    def _lift_met(self, manifest: Manifest, left: str | None, *, is_return: bool) -> None:

        def is_over(hold: Hold) -> bool:
            if hold.version == left:
                return not is_return
            return hold.meets(manifest.content, manifest.known_sources)

        self._holds.remove(is_over)

    @property
    def _current(self) -> Document[Current | None]:
        return current_document(self.objects, self.id, announce=self.announce)

    def _key(self, version: str, relative: str) -> str:
        return f"{version_folder(self.id, version)}/{relative}"

    def _read_manifest(self, version: str, digests: Mapping[str, str]) -> tuple[Manifest, bytes]:
        self.path(version, MANIFEST)
        try:
            manifest, data = read_manifest(self.objects, self.id, version, digests.get(version))
        except MissingObject:
            raise self._missing(version) from None
        for file in manifest.files:
            self.path(version, file.path)
        return manifest, data

    def open_current(self, found: Current) -> None:
        """Read the files of the current version, as ``activate`` with ``opens`` does before it makes one current.
        Raises ``StoreError`` and ``ManifestError`` as that does."""
        self._check_usable(found.version, found, opens=True)

    def is_whole(self, manifest: Manifest) -> bool:
        """Return whether all files of a version are there as they were built, as far as their sizes and times tell."""
        return next(touched_files(self.objects, manifest), None) is None

    def drop_damaged(self, manifest: Manifest) -> None:
        """Delete from a bucket the damaged files of a version that is not whole, which others may share: the next
        build brings whole ones."""
        drop_damaged(self.objects, manifest)

    def _check_usable(self, version: str, found: Current | None, *, opens: bool) -> str:
        """Return the SHA-256 of a version's manifest, of which all files are there. Raises as ``activate``."""
        if found is not None and version in found.dropping:
            raise MissingVersion(
                f"snapshot version {version} of {self.id} is being deleted, or was when a prune was stopped: "
                "`cms snapshot prune` finishes that. Activate another snapshot version."
            )
        manifest, data = self._read_manifest(version, {} if found is None else found.manifests)
        wrong = list(missing_files(self.objects, manifest))
        if opens and not wrong:
            wrong = list((altered_files if self.bucket is None else touched_files)(self.objects, manifest))
        if wrong and not self.has(version):  # dropped since its manifest was read
            raise self._missing(version)
        if wrong:
            raise StoreError(
                f"snapshot version {version} of {self.id} is damaged: {'; '.join(wrong[:3])}. "
                "A build of the same content makes it again, and puts missing images and files back; or activate "
                "another snapshot version."
            )
        return manifest_digest(data)

    def _move(self, moved: Callable[[Current | None], Current], *, mends: bool) -> Current:
        """Replace ``current`` by what ``moved`` makes of it. A damaged one is none where the change ``mends`` it."""

        def changed(found: Current | None, _: str) -> tuple[Current, tuple[Current, bool]]:
            after = moved(found)
            return after, (after, after != found)

        after, is_new = self._current.edit(changed, mends=mends)
        if is_new and not kept_version(self._current, after, self.has):
            raise self._missing(after.version)
        return after

    def _missing(self, version: str) -> MissingVersion:
        return MissingVersion(
            f'{self.id} has no snapshot version "{version}". `cms snapshot list` shows what there is.'
        )

"""Copy a version of a workspace from one store to another, with the assets that it names.

The manifest comes last: a version that was carried half is none, and carrying it again goes on where it ended.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final, TypeVar

import msgspec

from snapshots.problems import ParquetryError
from snapshots.store.assets.files import has_its_name
from snapshots.store.assets.use import GONE_SECONDS, leased_assets
from snapshots.store.current import VERSION, Current, current_document
from snapshots.store.durable import StoreError, reading
from snapshots.store.manifest import MANIFEST, DataFile, Manifest, decode_manifest, is_of_segment
from snapshots.store.objects import Conflict, DamagedObject, ListedObject, MissingObject, Objects

SNAPSHOTS: Final = "snapshots"
ASSETS: Final = "assets"
FILES: Final = "files"
"""The folder of a workspace's data files in a bucket, where versions name one object for what they have in common."""
DROPPED: Final = "dropped"
"""The object that tells of a version that it is none any more, whatever there is of it. In a bucket it stays for
minutes after all else, since requests may arrive late that store or delete something of the version."""
AT_ONCE: Final = 4
"""Files that are on their way at the same time; a large one is itself sent in several parts."""
LARGEST_COPY: Final = 5 << 30
"""Bytes of the largest object that S3 copies in one request."""

Progress = Callable[[str, int, int], None]
_Item = TypeVar("_Item")


class Carried(msgspec.Struct):
    """The amounts that were carried from one store to another."""

    versions: int = 0
    """Versions that the target did not have."""
    files: int = 0
    """Data files and assets that were sent or copied."""
    sent: int = 0
    """Bytes that passed through this machine."""
    copied: int = 0
    """Bytes that the target had under another name and copied by itself."""

    def add(self, other: Carried) -> None:
        """Add the amounts of another version."""
        self.versions += other.versions
        self.files += other.files
        self.sent += other.sent
        self.copied += other.copied


class BeingDeleted(Conflict):
    """A prune deletes the version that is to be carried, or did so a few minutes ago."""


def is_older(one: ListedObject, seconds: float) -> bool:
    """Return whether an object was stored so many seconds ago, if the clocks of the store and of this machine agree."""
    return one.modified_at < int((time.time() - seconds) * 1000)


def version_folder(workspace: str, version: str) -> str:
    """Return the folder of a version's objects."""
    return f"{workspace}/{SNAPSHOTS}/{version}"


def file_key(objects: Objects, workspace: str, version: str, file: DataFile) -> str:
    """Return the key of a data file: in a bucket, that of one object of all versions that have it. A directory
    has a name of it in each version, and buckets have those of versions before there were segments."""
    return key_in(objects, directory_key(workspace, version, file), file.sha256)


def directory_key(workspace: str, version: str, file: DataFile) -> str:
    """Return the key of a data file in a directory."""
    return f"{version_folder(workspace, version)}/{file.path}"


def key_in(objects: Objects, key: str, sha256: str) -> str:
    """Return the key of an object that has this key in a directory, and this SHA-256: another one in a bucket for a
    file that versions share."""
    workspace, folder, _, path = [*key.split("/", 3), "", "", ""][:4]
    if not objects.shares_files or folder != SNAPSHOTS or not is_of_segment(path):
        return key
    return f"{workspace}/{FILES}/{path.removesuffix('.parquet')}.{sha256[:32]}.parquet"


def file_keys(objects: Objects, manifest: Manifest) -> dict[str, DataFile]:
    """Return a version's data files by key."""
    return {file_key(objects, manifest.workspace.id, manifest.version, file): file for file in manifest.files}


def listed_objects(objects: Objects, manifest: Manifest) -> dict[str, ListedObject]:
    """Return the objects where a version's data files are, by key."""
    workspace = manifest.workspace.id
    folders = [version_folder(workspace, manifest.version)]
    if objects.shares_files and any(file.is_of_segment for file in manifest.files):
        folders.append(f"{workspace}/{FILES}")
    return {one.key: one for folder in folders for one in objects.names(folder)}


def listed_versions(objects: Objects, workspace: str) -> list[str]:
    """Return the versions of a workspace, newest first: those that have a manifest, and are not being deleted."""
    found = _folders_with(objects, workspace)
    return sorted((version for version, names in found.items() if names == {MANIFEST}), reverse=True)


def dropped_versions(objects: Objects, workspace: str) -> list[str]:
    """Return the versions of a workspace of which something tells that they are being deleted, or were a few minutes
    ago, newest first."""
    found = _folders_with(objects, workspace)
    return sorted((version for version, names in found.items() if DROPPED in names), reverse=True)


def _folders_with(objects: Objects, workspace: str) -> dict[str, set[str]]:
    """Return which of ``MANIFEST`` and ``DROPPED`` there are, by version."""
    found: dict[str, set[str]] = {}
    for one in objects.names(f"{workspace}/{SNAPSHOTS}"):
        _, _, version, *rest = one.key.split("/")
        if rest in ([MANIFEST], [DROPPED]) and VERSION.fullmatch(version):
            found.setdefault(version, set()).update(rest)
    return found


def read_manifest(objects: Objects, workspace: str, version: str, digest: str | None = None) -> tuple[Manifest, bytes]:
    """Return a version's manifest, and its bytes. ``digest`` is its SHA-256 where ``current`` names it.

    Raises ``MissingObject``, ``DamagedObject`` where it has another digest, ``ManifestError`` when it is damaged or too
    new, and ``StoreError`` when it is another version's or workspace's, or names files outside the version.
    """
    key = f"{version_folder(workspace, version)}/{MANIFEST}"
    found = objects.read(key)
    where = f"{objects.location}/{key}"
    if found is None:
        raise MissingObject(f"{where} is not there.")
    if digest is not None and digest != manifest_digest(found.data):
        raise DamagedObject(
            f"{where} has the SHA-256 {manifest_digest(found.data)} instead of {digest}, which `current` names: it was "
            "altered. Restore the file, or activate another snapshot version."
        )
    manifest = decode_manifest(found.data, where)
    if (manifest.workspace.id, manifest.version) != (workspace, version):
        raise StoreError(
            f"{where}: is the manifest of snapshot version {manifest.version} of {manifest.workspace.id}. "
            "Move the directory back where it belongs."
        )
    return manifest, found.data


def manifest_digest(data: bytes) -> str:
    """Return the SHA-256 of a manifest's bytes, as ``current`` names it."""
    return hashlib.sha256(data).hexdigest()


def carry(
    source: Objects,
    target: Objects,
    workspace: str,
    version: str,
    progress: Progress | None = None,
    *,
    digest: str | None = None,
) -> Carried:
    """Make ``version`` of ``source`` a version of ``target`` too, which may be the same store: then nothing is done.

    Files that another version of ``target`` has are copied there, all others are compared with the manifest's sizes
    and SHA-256 on the way, and the manifest with ``digest`` where that is known. ``progress`` is called with
    ("copying <version>", bytes done, bytes in all). Raises ``StoreError``: ``MissingObject``, ``DamagedObject``,
    ``StoreUnreachable``, ``Conflict`` where ``target`` has another version of this name, ``BeingDeleted``, and others;
    and ``ManifestError``.
    """
    manifest, data = read_manifest(source, workspace, version, digest)
    folder = version_folder(workspace, version)
    there = target.read(f"{folder}/{MANIFEST}")
    if there is not None and there.data != data:
        raise Conflict(f"{target.location}/{folder} already exists with different content.")
    if there is not None and target.read(f"{folder}/{DROPPED}") is None:
        return Carried()
    return _Carrying(source, target, workspace, manifest, progress).carried(data)


def carry_assets(source: Objects, target: Objects, manifest: Manifest) -> Carried:
    """Give ``target`` the assets of ``source`` that a version there names and that are missing. Raises as ``carry``."""
    return _Carrying(source, target, manifest.workspace.id, manifest, None).completed()


def asset_keys(manifest: Manifest) -> list[str]:
    """Return the keys of the assets that a version names."""
    return [f"{manifest.workspace.id}/{ASSETS}/{name}" for name in manifest.asset_names]


def missing_assets(objects: Objects, manifest: Manifest) -> list[str]:
    """Return the keys of the assets that a version names and the store does not have."""
    keys = asset_keys(manifest)
    there = {one.key for one in objects.names(f"{manifest.workspace.id}/{ASSETS}")} if keys else set()
    return [key for key in keys if key not in there]


class _Carrying:
    """One version on its way."""

    def __init__(
        self, source: Objects, target: Objects, workspace: str, manifest: Manifest, progress: Progress | None
    ) -> None:
        self._source, self._target, self._workspace, self._manifest = source, target, workspace, manifest
        self._folder = version_folder(workspace, manifest.version)
        self._progress = progress
        self._done = Carried(versions=1)
        self._bytes = 0

    def carried(self, manifest: bytes) -> Carried:
        needed = [*asset_keys(self._manifest), *file_keys(self._target, self._manifest)]
        with leased_assets(self._target, self._workspace, needed, self._manifest.version) as check:
            self._files()
            self._assets()
            check()
            self._target.create(f"{self._folder}/{MANIFEST}", manifest)
        return self._done

    def completed(self) -> Carried:
        """Carry the assets alone, of a version that the target has."""
        self._done.versions = 0
        with leased_assets(self._target, self._workspace, missing_assets(self._target, self._manifest)):
            self._assets()
        return self._done

    def _files(self) -> None:
        # In a directory, the mark is looked for before the files, which go before it: where it is not, they are not.
        listed = listed_objects(self._target, self._manifest)
        mark = listed.get(f"{self._folder}/{DROPPED}")
        if mark is not None:
            own = [key for key in listed if key.startswith(f"{self._folder}/")]
            if len(own) > 1 or not is_older(mark, GONE_SECONDS):
                raise BeingDeleted(self._in_the_way)
            self._take_back_the_name(mark)
        there = {key: one.bytes for key, one in listed.items()}
        missing = [file for file in self._manifest.files if there.get(self._key(file)) != file.bytes]
        # What a killed attempt left half is not there at all, but another size can be an older damage.
        self._target.delete(self._key(file) for file in missing if self._key(file) in there)
        # Of what a bucket shares, no other version has it either.
        elsewhere = self._elsewhere() if not all(map(self._is_shared, missing)) else {}
        self._bytes = sum(file.bytes for file in self._manifest.files) - sum(file.bytes for file in missing)
        for_each(lambda file: self._file(file, elsewhere.get(file.sha256)), missing)

    @property
    def _in_the_way(self) -> str:
        where = f"{self._target.location}/{self._folder}"
        if not self._target.loses_answers:
            return (
                f"{where} is being deleted by a prune. Wait for its end, or run `cms snapshot prune` there if it was "
                "cut off."
            )
        return (
            f"{where} is being deleted by a prune, or was a few minutes ago, and requests of it may still arrive. Try "
            "again six minutes after its end; if it was cut off, run `cms snapshot prune` there first."
        )

    def _take_back_the_name(self, mark: ListedObject) -> None:
        """Let the version be one again, of which only the mark is left: first for the next prune, which deletes what
        is named, and then for whoever carries it."""

        def forget(found: Current | None, _: str) -> tuple[Current | None, None]:
            if found is None:
                return None, None
            left = tuple(version for version in found.dropping if version != self._manifest.version)
            return msgspec.structs.replace(found, dropping=left), None

        current_document(self._target, self._workspace).edit(forget)
        self._target.delete([mark.key])

    def _is_shared(self, file: DataFile) -> bool:
        return not self._key(file).startswith(f"{self._folder}/")

    def _key(self, file: DataFile) -> str:
        return file_key(self._target, self._workspace, self._manifest.version, file)

    def _elsewhere(self) -> dict[str, str]:
        """Return the keys of the data files that the target has, by their SHA-256."""
        found: dict[str, str] = {}
        for version in reversed(listed_versions(self._target, self._workspace)):
            with suppress(ParquetryError):  # a damaged version: nothing of it is used
                manifest, _ = read_manifest(self._target, self._workspace, version)
                found |= {file.sha256: key for key, file in file_keys(self._target, manifest).items()}
        return found

    def _file(self, file: DataFile, same: str | None) -> None:
        is_copied = same is not None and not self._is_shared(file) and file.bytes <= LARGEST_COPY
        if is_copied and same is not None and self._copied(file, same):
            self._done.copied += file.bytes
        else:
            source_key = file_key(self._source, self._workspace, self._manifest.version, file)
            self._target.take(self._key(file), self._source, source_key, file.bytes, file.sha256)
            self._done.sent += file.bytes
        self._done.files += 1
        self._bytes += file.bytes
        if self._progress is not None:
            total = sum(one.bytes for one in self._manifest.files)
            self._progress(f"copying {self._manifest.version}", self._bytes, total)

    def _copied(self, file: DataFile, same: str) -> bool:
        try:
            self._target.copy(same, self._key(file))
        except MissingObject:  # pruned meanwhile
            return False
        return True

    def _assets(self) -> None:
        missing = missing_assets(self._target, self._manifest)
        if not missing:
            return
        listed = {one.key: one for one in self._source.names(f"{self._workspace}/{ASSETS}")}

        def asset(key: str) -> None:
            found = listed.get(key)
            if found is None:
                raise MissingObject(
                    f"{self._source.location}/{key} is missing, and snapshot version {version} needs it."
                )
            self._asset(found)

        version = self._manifest.version
        for_each(asset, missing)

    def _asset(self, asset: ListedObject) -> None:
        with self._source.as_file(asset.key, asset.bytes, None) as path:
            with reading(path), path.open("rb") as opened:
                if not has_its_name(asset.key.rpartition("/")[2], opened):
                    raise DamagedObject(f"{self._source.location}/{asset.key}: has another content than its name says.")
            self._target.create(asset.key, path)
        self._done.files += 1
        self._done.sent += asset.bytes


def for_each(work: Callable[[_Item], object], items: Iterable[_Item]) -> None:
    """Do the work for some items at a time. The first failure is raised, and those not begun by then are left."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        begun = [threads.submit(work, item) for item in items]
        try:
            for done in begun:
                done.result()
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise

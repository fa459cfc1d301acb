"""The store: workspaces, their published versions, and which of them is current (design section 3).

    <root>/<workspace id>/current                    one JSON line: version, previous, activated_at, activated_by
    <root>/<workspace id>/snapshots/<version>/…      immutable; a directory without manifest.json is no version
    <root>/<workspace id>/assets/…                   files that content names, shared by the versions
    <root>/.cache/                                   files that can be made again

Reading takes no lock and writes nothing, so a read-only store can be served.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import Final, Literal

import msgspec

from snapshots.problems import ParquetryError
from snapshots.store.assets import keep_assets, prune_assets
from snapshots.store.durable import (
    StoreError,
    locked,
    make_directory,
    reading,
    remove_leftovers,
    replace_durably,
    sync_directory,
    writing,
)
from snapshots.store.manifest import MANIFEST, Manifest, ManifestError, decode_manifest
from snapshots.store.staging import Staging, delete, discard, publish, seal, staged, sweep
from snapshots.store.verification import complaints, wrong_sizes

CURRENT: Final = "current"
SNAPSHOTS: Final = "snapshots"
ASSETS: Final = "assets"
KEPT_ACTIVATIONS: Final = 50
"""The number of earlier versions that ``current`` remembers (decision 50)."""

_VERSION = re.compile(r"[0-9]{8}T[0-9]{9}Z-[0-9a-f]{8}")
_WORKSPACE_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


class _Expected(Enum):
    ANY = "any"


ANY: Final = _Expected.ANY
"""For ``activate``: any version may be current now, even in a damaged ``current``."""


class MissingVersion(StoreError):
    """The store has no such version."""


class DamagedCurrent(StoreError):
    """The file ``current`` does not say which version is current."""


class ActivationConflict(StoreError):
    """Another version was activated meanwhile. ``expected`` and ``found`` are versions, ``None`` for none."""

    def __init__(self, message: str, expected: str | None, found: str | None) -> None:
        super().__init__(message)
        self.expected = expected
        self.found = found


class Current(msgspec.Struct, frozen=True):
    """The version that is served, and those served before it."""

    version: str
    previous: tuple[str, ...]
    """The versions current before, newest first, 50 at most; pruned ones may be among them."""
    activated_at: int
    """UTC milliseconds."""
    activated_by: str
    """``user@host``."""


# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decode_current: Final = msgspec.json.Decoder(Current).decode


class Store(msgspec.Struct, frozen=True):
    """A directory that holds the snapshots and keys of any number of workspaces."""

    root: Path
    cache: Path
    """The directory of build caches and readers' files: deleting it only costs time."""

    def workspaces(self) -> list[str]:
        """Return the IDs of the workspaces that have been built here, sorted; none where there is no store yet."""
        with reading(self.root):
            if not self.root.exists():
                return []
            return sorted(
                entry.name
                for entry in self.root.iterdir()
                if _WORKSPACE_ID.fullmatch(entry.name) and ((entry / CURRENT).is_file() or (entry / SNAPSHOTS).is_dir())
            )

    def workspace(self, workspace_id: str) -> WorkspaceStore:
        """Return a workspace's part of the store, which need not exist yet. Raises ``StoreError`` for a wrong ID."""
        if not _WORKSPACE_ID.fullmatch(workspace_id):
            raise StoreError(
                f"{workspace_id!r} is no workspace ID: write 1 to 63 of a-z, 0-9 and '-', not beginning with '-'."
            )
        return WorkspaceStore(workspace_id, self.root / workspace_id)


def open_store(location: str | Path, *, cache: Path | None = None) -> Store:
    """Return the store at ``location``, a local directory that need not exist yet; ``~`` is the user's home.

    ``cache`` defaults to ``.cache`` inside it. Raises ``StoreError`` for a URL.
    """
    if isinstance(location, str) and "://" in location:
        raise StoreError(f"{location}: only local directories can be stores. Name a directory.")
    root = Path(location).expanduser()
    return Store(root, cache if cache is not None else root / ".cache")


def new_version(now: int, content: str) -> str:
    """Return the name of a version built at ``now`` (UTC milliseconds): ``YYYYMMDDTHHMMSSmmmZ-<8 hex of content>``."""
    seconds, milliseconds = divmod(now, 1000)
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y%m%dT%H%M%S}{milliseconds:03d}Z-{content[:8]}"


class WorkspaceStore(msgspec.Struct, frozen=True):
    """The versions of one workspace and the pointer to the current one."""

    id: str
    directory: Path

    @property
    def snapshots(self) -> Path:
        return self.directory / SNAPSHOTS

    @property
    def assets(self) -> Path:
        """The files that content names, each by a name made of its content; versions share them."""
        return self.directory / ASSETS

    def current(self) -> Current | None:
        """Return the content of ``current``, ``None`` before the first activation.

        Raises ``DamagedCurrent``, and ``StoreError`` when the file cannot be read.
        """
        path = self.directory / CURRENT
        with reading(path):
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                return None
        try:
            current = _decode_current(data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _damaged(path, str(error)) from None
        for version in (current.version, *current.previous):
            if not _VERSION.fullmatch(version):
                raise _damaged(path, f"{version!r} is no version")
        return current

    def versions(self) -> list[str]:
        """Return the versions that have a manifest, newest first."""
        with reading(self.snapshots):
            if not self.snapshots.exists():
                return []
            names = [entry.name for entry in self.snapshots.iterdir()]
            return sorted((name for name in names if self.has(name)), reverse=True)

    def has(self, version: str) -> bool:
        """Return whether there is such a version, whole or damaged."""
        return bool(_VERSION.fullmatch(version)) and (self.snapshots / version / MANIFEST).is_file()

    def find(self, prefix: str) -> str:
        """Return the version that begins with ``prefix``. Raises ``MissingVersion``, or ``StoreError`` for several."""
        found = [version for version in self.versions() if version.startswith(prefix)]
        if not found:
            raise self._missing(prefix)
        if len(found) > 1:
            raise StoreError(
                f"{prefix!r} is the beginning of {len(found)} versions ({found[-1]} to {found[0]}). Write more of it."
            )
        return found[0]

    def unused_version(self, now: int, content: str) -> str:
        """Return ``new_version`` at ``now`` or, if that is taken, at the first free millisecond after it."""
        while (self.snapshots / (version := new_version(now, content))).exists():
            now += 1
        return version

    def path(self, version: str, relative: str) -> Path:
        """Return the path of a version's file. Raises ``StoreError`` for names that lead elsewhere."""
        if not _VERSION.fullmatch(version):
            raise self._missing(version)
        parts = PurePosixPath(relative)
        if parts.is_absolute() or ".." in parts.parts or "\0" in relative:
            raise StoreError(f"version {version} of {self.id}: {relative!r} is no path inside a snapshot.")
        return self.snapshots / version / parts

    def manifest(self, version: str) -> Manifest:
        """Return a version's manifest.

        Raises ``MissingVersion``, ``ManifestError`` when it is damaged or too new, and ``StoreError`` when it
        cannot be read, is another version's or workspace's, or names files outside the version.
        """
        path = self.path(version, MANIFEST)
        with reading(path):
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                raise self._missing(version) from None
        manifest = decode_manifest(data, str(path))
        if (manifest.workspace.id, manifest.version) != (self.id, version):
            raise StoreError(
                f"{path}: is the manifest of version {manifest.version} of {manifest.workspace.id}. "
                "Move the directory back where it belongs."
            )
        for file in manifest.files:
            self.path(version, file.path)
        return manifest

    def stage(self, version: str) -> AbstractContextManager[Staging]:
        """Make a directory to build ``version`` in, beside its destination; deleted after the block unless published.

        Also deletes the files that killed builds left. Raises ``StoreError`` when the disk refuses, in the block too.
        """
        if not _VERSION.fullmatch(version):
            raise StoreError(f"{version!r} is no version: they are named YYYYMMDDTHHMMSSmmmZ-<8 hex>.")
        return staged(self.snapshots, version)

    def publish(self, staging: Staging, manifest: Manifest) -> None:
        """Make a staged version a snapshot, in one step that survives a power cut; it is not current yet.

        Raises ``VersionExists``, and ``StoreError`` when the disk refuses or the files are not the manifest's.
        """
        if (manifest.workspace.id, manifest.version) != (self.id, staging.version):
            raise StoreError(
                f"the manifest is that of version {manifest.version} of {manifest.workspace.id}, "
                f"but version {staging.version} of {self.id} is staged."
            )
        for file in manifest.files:
            self.path(manifest.version, file.path)
        with writing(staging.directory):
            seal(staging, manifest)
            publish(staging, self.snapshots / staging.version)

    def keep_assets(self, root: Path, named: Mapping[str, str]) -> None:
        """Copy the files at ``root`` that content names into the store, as ``assets.keep_assets``."""
        keep_assets(self.assets, root, named)

    def activate(self, version: str, *, expected: str | Literal[_Expected.ANY] | None, by: str, now: int) -> Current:
        """Make ``version`` current at ``now`` (UTC milliseconds), if ``expected`` is the current version until then.

        ``expected=None`` means that nothing may be current yet; with ``ANY`` any version may, and a damaged
        ``current`` is written anew, without its history. Activating the current version changes nothing. Raises
        ``ActivationConflict``, ``MissingVersion``, and ``StoreError`` or ``ManifestError`` when the version's
        files are missing or not of the recorded size, or the disk refuses: the old version stays current.
        """
        with self._changing():
            try:
                found = self.current()
            except DamagedCurrent:
                if expected is not ANY:
                    raise
                found = None
            before = found.version if found is not None else None
            if expected is not ANY and expected != before:
                raise ActivationConflict(
                    f"{self.id}: the current version is {before or 'none'}, no longer {expected or 'none'}: "
                    f"somebody else activated one meanwhile, so {version} was not activated. Run the command again.",
                    expected,
                    before,
                )
            self._check_usable(version)
            if found is not None and found.version == version:
                return found
            previous = (found.version, *found.previous) if found is not None else ()
            return self._point_to(Current(version, previous[:KEPT_ACTIVATIONS], now, by))

    def rollback(self, *, by: str, now: int) -> Current:
        """Make the version before the current one current again; a second call goes back one more (decision 50).

        Raises ``StoreError`` when there is none, ``MissingVersion`` when it was pruned.
        """
        with self._changing():
            found = self.current()
            if found is None or not found.previous:
                raise StoreError(f"{self.id}: no version was current before. `cms snapshot list` shows what there is.")
            version, *rest = found.previous
            self._check_usable(version)
            return self._point_to(Current(version, tuple(rest), now, by))

    def verify(self, version: str, progress: Callable[[str, int, int], None] | None = None) -> list[str]:
        """Return the faults of a version: files of another size or SHA-256, or unreadable. Empty: it is whole.

        ``progress`` is called with ("verifying", bytes done, bytes in all). Raises ``MissingVersion``.
        """
        if not self.has(version):
            raise self._missing(version)
        try:
            manifest = self.manifest(version)
        except ParquetryError as error:
            return [str(error)]
        return list(complaints(self.snapshots / version, manifest, progress))

    def prune(self, keep: int) -> tuple[list[str], int]:
        """Drop all but the newest ``keep`` versions, never the current one nor the one before it.

        Returns the dropped versions, newest first, and the bytes freed. Also deletes the files that killed
        builds left; builds at work are left alone, and open files stay readable. Raises
        ``ValueError`` for a ``keep`` below 1, ``StoreError`` when the current version is not known.
        """
        if keep < 1:
            raise ValueError("keep at least 1 version")
        if not self.versions():
            return [], 0
        with self._changing():
            found = self.current()
            protected = {found.version, *found.previous[:1]} if found is not None else set()
            dropped = [version for version in self.versions()[keep:] if version not in protected]
            hidden = [discard(self.snapshots / version) for version in dropped]
            sync_directory(self.snapshots)
        with writing(self.snapshots):
            freed = sum(delete(directory) for directory in hidden)
            sweep(self.snapshots)
            with suppress(ManifestError):  # a damaged version may name any asset
                named = {name for version in self.versions() for name in self.manifest(version).asset_names}
                freed += prune_assets(self.assets, named)
        return dropped, freed

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold the lock under which the current version is changed and versions are dropped."""
        with writing(self.directory):
            make_directory(self.directory)
            with locked(self.directory / ".lock"):
                yield

    def _check_usable(self, version: str) -> None:
        wrong = list(wrong_sizes(self.snapshots / version, self.manifest(version)))
        if wrong:
            raise StoreError(
                f"version {version} of {self.id} is damaged: {'; '.join(wrong[:3])}. "
                "Restore its files, or activate another version."
            )

    def _point_to(self, current: Current) -> Current:
        path = self.directory / CURRENT
        remove_leftovers(path)
        replace_durably(path, msgspec.json.encode(current) + b"\n")
        return current

    def _missing(self, version: str) -> MissingVersion:
        return MissingVersion(f'{self.id} has no version "{version}". `cms snapshot list` shows what there is.')


def _damaged(path: Path, reason: str) -> DamagedCurrent:
    return DamagedCurrent(
        f"{path} is damaged: {reason}. `cms snapshot list` shows the versions, "
        "`cms snapshot activate VERSION` makes one current and writes the file anew."
    )

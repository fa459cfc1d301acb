"""A version while it is being built: a hidden directory beside its destination that a rename makes a snapshot.

snapshots/.staging-<random>/        files of a version that is no snapshot yet
snapshots/.staging-<random>.lock    held by the process that builds it, so that others can tell it is alive
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from snapshots.locks import FileLock
from snapshots.ownership import follow_directory
from snapshots.store.durable import StoreError, locked, make_directory, sync_directory, write_durably, writing
from snapshots.store.manifest import MANIFEST, Manifest, encode_manifest

_STAGING = ".staging-"
_LOCK = ".lock"
_SYNCED_AT_ONCE = 8


class VersionExists(StoreError):
    """A version of this name is in the store already; a version is never overwritten."""


class Staging(msgspec.Struct, frozen=True):
    """A version being built. Files go anywhere under ``directory``, in sub-directories the writer creates."""

    version: str
    """The name it will be published under."""
    directory: Path


@contextmanager
def staged(snapshots: Path, version: str) -> Iterator[Staging]:
    """Make a staging directory in ``snapshots``, deleted at the end of the block unless it was published.

    First deletes the files that killed processes left. Raises ``StoreError`` when the disk refuses, in the block too.
    """
    with writing(snapshots):
        make_directory(snapshots)
        sweep(snapshots)
        directory = snapshots / f"{_STAGING}{os.urandom(8).hex()}"
        # A sweep may hold the new lock for an instant, so this waits.
        with locked(_lock_of(directory)):
            try:
                directory.mkdir()
                follow_directory(directory, snapshots)
                yield Staging(version, directory)
            finally:
                shutil.rmtree(directory, ignore_errors=True)
                _remove_lock(directory)


def seal(staging: Staging, manifest: Manifest) -> None:
    """Bring every file of a staged version to the disk, the manifest last, so that a rename can publish it.

    Raises ``StoreError`` when the manifest names files that are not there in the size it says.
    """
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - spared to a build with nothing to do

    for file in manifest.files:
        path = staging.directory / file.path
        size = path.stat().st_size if path.is_file() else None
        if size != file.bytes:
            found = "is missing" if size is None else f"has {size:,} bytes instead of {file.bytes:,}"
            raise StoreError(f"{path}: {found}, so snapshot version {manifest.version} was not published. Build again.")
    directories: list[Path] = []
    files: list[Path] = []
    for directory, _, names in os.walk(staging.directory, topdown=False):
        directories.append(Path(directory))
        files += [Path(directory, name) for name in names]
    for path in (*directories, *files):
        follow_directory(path, staging.directory.parent)
    # Several at a time, since a disk writes waiting files together.
    with ThreadPoolExecutor(_SYNCED_AT_ONCE) as threads:
        list(threads.map(_finish, files))
        list(threads.map(sync_directory, directories))
    write_durably(staging.directory / MANIFEST, encode_manifest(manifest), mode=0o444)
    sync_directory(staging.directory)


def bring_to_disk(path: Path) -> None:
    """Bring a finished file to the disk, so that sealing its version need not wait for it. Raises ``OSError``."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def publish(staging: Staging, destination: Path) -> None:
    """Make a sealed staging directory the version at ``destination``. Raises ``VersionExists``."""
    try:
        staging.directory.rename(destination)
    except OSError as error:
        if destination.exists():
            raise VersionExists(
                f"{destination} is there already, and a snapshot version is never overwritten."
            ) from error
        raise
    sync_directory(destination.parent)


def delete(directory: Path) -> int:
    """Delete a directory; return the bytes freed. Files that another version shares free none."""
    freed = 0
    for parent, _, names in os.walk(directory, topdown=False):
        for name in names:
            path = Path(parent, name)
            with suppress(FileNotFoundError):  # another process may be sweeping
                found = path.lstat()
                path.unlink()
                freed += found.st_size if found.st_nlink == 1 else 0
        with suppress(FileNotFoundError):
            Path(parent).rmdir()
    return freed


def sweep(snapshots: Path) -> None:
    """Delete the files that killed processes left in ``snapshots``; those that cannot be deleted stay.

    A staging directory whose lock is held is alive and stays.
    """
    for entry in sorted(snapshots.iterdir()):
        with suppress(OSError):
            if entry.name.startswith(_STAGING):
                directory = entry.with_suffix("") if entry.suffix == _LOCK else entry
                _sweep_if_dead(directory)


def builds_under_way(snapshots: Path) -> list[int]:
    """Return when each build began whose files are in ``snapshots`` (UTC milliseconds, by the file system's clock), be
    it still running or killed."""
    began = []
    for lock in snapshots.glob(f"{_STAGING}*{_LOCK}"):
        with suppress(OSError):
            began.append(lock.stat().st_mtime_ns // 1_000_000)
    return began


def _sweep_if_dead(directory: Path) -> None:
    lock = FileLock(_lock_of(directory))
    if lock.take():
        try:
            shutil.rmtree(directory, ignore_errors=True)
            _remove_lock(directory)
        finally:
            lock.leave()


def _finish(path: Path) -> None:
    """Bring a data file to the disk and make it read-only: hard links share it from now on."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        if mode & 0o222:  # else it is linked, and a change of its mode would have to be brought to the disk again
            with suppress(PermissionError):  # linked from a version that another user built
                os.fchmod(descriptor, mode & ~0o222)
        # Plain fsync: on macOS the manifest's F_FULLFSYNC empties the drive's cache for all files at once.
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lock_of(directory: Path) -> Path:
    return directory.with_name(directory.name + _LOCK)


def _remove_lock(directory: Path) -> None:
    # While the lock is held: a process that opened it meanwhile sees that its name is gone, and starts over.
    with suppress(OSError):
        _lock_of(directory).unlink()

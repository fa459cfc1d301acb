"""Files that change as a whole: after a crash a file is either the old one or the new one.

No file of a store is ever changed in place. A small file is written beside itself, brought to the disk and
renamed over the old one; a large one is written once and then shared by hard links.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from snapshots.locks import FileLock
from snapshots.ownership import follow_directory
from snapshots.problems import ParquetryError

LOCK_SECONDS = 30.0
"""The longest wait of ``locked``: locks guard steps of milliseconds, so a longer one means a stuck process."""

_FULL_SYNC: int | None = getattr(fcntl, "F_FULLFSYNC", None)

_CAUSES: Final = {
    errno.ENOSPC: (
        "the disk is full",
        "Free some space (`cms snapshot prune` deletes old snapshot versions) and try again.",
    ),
    errno.EDQUOT: ("the disk quota is used up", "Free some space or have the quota raised, and try again."),
    errno.EFBIG: ("the file would be larger than this system allows", "Raise the limit (`ulimit -f`) and try again."),
    errno.EROFS: ("the file system is read-only", "Mount it writable, or name another store with --store."),
    errno.EACCES: ("permission denied", "Run as the user who owns the store, or give this one access."),
    errno.EPERM: ("permission denied", "Run as the user who owns the store, or give this one access."),
    errno.EIO: ("the disk reports an error", "Check the disk, and `cms snapshot verify` afterwards."),
    errno.EMFILE: ("too many files are open", "Raise the limit (`ulimit -n`) and try again."),
    errno.ENFILE: ("too many files are open on this machine", "Close some programs and try again."),
    errno.ENOTDIR: ("a part of this path is a file, not a directory", "Name another store with --store."),
}

_NO_ALLOCATION: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})
"""The errors of a file system that cannot reserve space."""
_WRITTEN_AT_ONCE: Final = 1 << 20

_NO_LINKS: Final = frozenset(
    {errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
)
"""Errors of file systems that cannot link these two places, or must not."""


class StoreError(ParquetryError):
    """The store cannot be read or written. The current version stays as it is."""


def keep_from_others() -> None:
    """Keep all other users from files that this process, and those it starts, create from now on.

    A store and its cache hold unpublished content and names of keys. The umask decides the rights of the group.
    """
    os.umask(os.umask(0o077) | 0o007)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an ``OSError`` in the block into a ``StoreError`` that names the path, the cause and the remedy.

    ``path`` is named where the error itself names no file.
    """
    try:
        yield
    except OSError as error:
        raise _store_error(error, path, "cannot write") from error


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn an ``OSError`` of the block into a ``StoreError`` that names the path that could not be read."""
    try:
        yield
    except OSError as error:
        raise _store_error(error, path, "cannot read") from error


def is_of_this_disk(error: BaseException) -> bool:
    """Return whether it is this machine's disk that failed, and not a store elsewhere."""
    return isinstance(error, OSError) or isinstance(error.__cause__, OSError)


def _store_error(error: OSError, path: Path, verb: str) -> StoreError:
    where = error.filename2 or error.filename or path
    if isinstance(where, bytes):
        where = os.fsdecode(where)
    cause, remedy = _CAUSES.get(error.errno or 0, (error.strerror or str(error), ""))
    return StoreError(f"{verb} {where}: {cause}. {remedy}".rstrip())


def sync_file(descriptor: int) -> None:
    """Bring an open file's content to the disk itself, so that it outlives a power cut.

    On macOS ``fsync`` stops at the drive's own cache; F_FULLFSYNC empties that too, for all files at once.
    """
    if _FULL_SYNC is not None:
        with suppress(OSError):  # network and FUSE file systems have no such command
            fcntl.fcntl(descriptor, _FULL_SYNC)
            return
    os.fsync(descriptor)


def sync_content(path: Path) -> None:
    """Bring the content of a file to the disk that another process may have written. Raises ``OSError``."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync_file(descriptor)
    finally:
        os.close(descriptor)


def allocate(descriptor: int, begin: int, end: int) -> None:
    """Reserve disk space for the bytes from ``begin`` to ``end`` of an open file; their content stays.

    The file grows to ``end`` where it is shorter. When the disk is full, writing through a memory map to a
    byte without reserved space ends the process. No one else may write to these bytes meanwhile. Raises ``OSError``.
    """
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(descriptor, begin, end - begin)
        except OSError as error:
            if error.errno not in _NO_ALLOCATION:
                raise
        else:
            return
    there = os.fstat(descriptor).st_size
    while begin < end:
        size = min(_WRITTEN_AT_ONCE, end - begin)
        held = os.pread(descriptor, size, begin) if begin < there else b""
        begin += os.pwrite(descriptor, held.ljust(size, b"\0"), begin)


def sync_directory(path: Path) -> None:
    """Bring a directory's names to the disk: files created, renamed or removed in it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        sync_file(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # file systems that cannot sync a directory, and need not
            raise
    finally:
        os.close(descriptor)


_making: Final = threading.RLock()
"""Held while directories are made: what another thread made in one that has no owner yet would follow nobody."""


def make_directory(path: Path) -> None:
    """Create a directory and the missing ones above it, each brought to the disk. Raises ``OSError``."""
    with _making:
        if path.is_dir():
            return
        make_directory(path.parent)
        path.mkdir(exist_ok=True)
        follow_directory(path, path.parent)
        sync_directory(path.parent)


def write_durably(path: Path, data: bytes, *, mode: int = 0o666) -> None:
    """Create the file ``path`` with ``data``, brought to the disk. Raises ``FileExistsError`` and any ``OSError``."""
    _create(path, data, mode, durable=True)


def replace_durably(path: Path, data: bytes, *, mode: int = 0o666) -> None:
    """Make ``data`` the content of ``path`` in one step that survives a power cut.

    Whatever happens, the file is the old one whole or the new one whole; ``mode`` (less the umask) holds from
    the first instant, so secrets are never readable meanwhile. Raises ``OSError`` and leaves the old file; a
    killed process may leave ``.<name>.<random>.tmp`` behind, which ``remove_leftovers`` removes.
    """
    _replace(path, data, mode, durable=True)
    sync_directory(path.parent)


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file as ``replace_durably`` does, but without waiting for the disk: for caches."""
    _replace(path, data, 0o666, durable=False)


def remove_leftovers(path: Path) -> None:
    """Delete the files that killed replacements of ``path`` left. The caller keeps others from replacing it now."""
    for beside in path.parent.iterdir():
        if beside.name.startswith(f".{path.name}.") and beside.suffix == ".tmp":
            beside.unlink(missing_ok=True)


def link_or_copy(source: Path, destination: Path) -> None:
    """Give a finished file a second name, or copy it where the file system cannot link.

    Neither may be changed in place afterwards. Raises ``FileExistsError`` when the destination is there, and
    any other ``OSError``; a failed copy leaves nothing.
    """
    try:
        destination.hardlink_to(source)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        with source.open("rb") as original, destination.open("xb") as copy, _removed_on_failure(destination):
            shutil.copyfileobj(original, copy, 1 << 20)
            copy.flush()


@contextmanager
def locked(path: Path, *, seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold the lock file ``path``, which is created and stays; one process of this machine at a time.

    The system frees it when the process ends, however it ends. Raises ``StoreError`` when somebody else has
    held it for ``seconds``, and ``OSError`` when the file cannot be opened for writing.
    """
    lock = FileLock(path)
    if not lock.take(seconds):
        raise StoreError(
            f"{path}: another process has been holding this lock for {seconds:g} s. "
            "Try again when it is done, or end it if it hangs."
        )
    try:
        yield
    finally:
        lock.leave()


def _replace(path: Path, data: bytes, mode: int, *, durable: bool) -> None:
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
    _create(temporary, data, mode, durable=durable)
    with _removed_on_failure(temporary):
        temporary.replace(path)


def _create(path: Path, data: bytes, mode: int, *, durable: bool) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with _removed_on_failure(path), os.fdopen(descriptor, "wb", buffering=0) as file:
        follow_directory(descriptor, path.parent)
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]
        if durable:
            sync_file(descriptor)


@contextmanager
def _removed_on_failure(path: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise

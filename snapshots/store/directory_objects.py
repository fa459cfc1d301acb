"""A directory as ``Objects``: every key is the path of a file below it.

Documents are compared and replaced under a lock of their directory (``.lock``, of one machine); whatever begins with
a dot is no object.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
from pathlib import Path
from typing import Literal

from blake3 import blake3

from snapshots.ownership import follow_directory
from snapshots.store.durable import (
    link_or_copy,
    locked,
    make_directory,
    reading,
    remove_leftovers,
    replace_durably,
    sync_content,
    sync_directory,
    write_durably,
    writing,
)
from snapshots.store.objects import (
    ABSENT,
    ANY,
    UNCHANGED,
    Conflict,
    DamagedObject,
    Expected,
    ListedObject,
    MissingObject,
    ObjectContent,
    Objects,
    Unchanged,
    checked_key,
    checked_prefix,
)
from snapshots.store.reserve import fill_reserve, write_with_reserve

_LOCK = ".lock"
_COMPARED_AT_ONCE = 1 << 20
_TRIES = 5


class DirectoryObjects(Objects):
    """The files of a local directory, which need not exist yet."""

    loses_answers = False

    def __init__(self, root: Path) -> None:
        self.root = root
        self.location = str(root)
        self._may_use_reserve = False

    def read(self, key: str) -> ObjectContent | None:
        """Return the content of the file, ``None`` where there is none."""
        path = self._path(key)
        with reading(path):
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                return None
        return ObjectContent(data, _tag(data))

    def read_if_changed(self, key: str, tag: str) -> ObjectContent | Literal[Unchanged.UNCHANGED] | None:
        """Return ``UNCHANGED`` for a file whose content has ``tag``, else as ``read``."""
        found = self.read(key)
        return UNCHANGED if found is not None and found.tag == tag else found

    def replace(self, key: str, data: bytes, expected: str | Expected, *, private: bool = False) -> str:
        """Replace the file in one step that survives a power cut, if it is as ``expected``."""
        path = self._path(key)

        def replaced() -> None:
            with self._changing(path):
                found = self.read(key)
                as_expected = expected is ANY or (None if expected is ABSENT else expected) == (found and found.tag)
                if not as_expected and (found is None or found.data != data):
                    raise Conflict(f"{path}: another process has changed it meanwhile. Try again.")
                if found is None or found.data != data:
                    remove_leftovers(path)
                    replace_durably(path, data, mode=0o600 if private else 0o666)

        with writing(path):
            if self._may_use_reserve:
                write_with_reserve(self.root, len(data), replaced)
            else:
                replaced()
        fill_reserve(self.root)
        return _tag(data)

    def with_reserve(self) -> DirectoryObjects:
        """Return these objects for changes that may use the store's reserve (``snapshots.store.reserve``)."""
        allowed = copy(self)
        allowed._may_use_reserve = True
        return allowed

    def create(self, key: str, source: Path | bytes) -> None:
        """Write bytes to the disk, or link the file (copy it where it cannot be linked)."""
        path = self._path(key)
        with writing(path):
            _persistently(lambda: self._create(path, source), source)

    def create_copy(self, key: str, source: Path) -> None:
        """Copy the file, even where it could be linked."""
        path = self._path(key)
        with writing(path):
            _persistently(lambda: self._create(path, source, links=False), source)

    def _create(self, path: Path, source: Path | bytes, *, links: bool = True) -> None:
        make_directory(path.parent)
        temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
        try:
            if isinstance(source, bytes):
                write_durably(temporary, source, mode=0o444)
            else:
                if links:
                    link_or_copy(source, temporary)
                else:
                    shutil.copyfile(source, temporary)
                if temporary.stat().st_nlink == 1:  # else it is another store's file, too
                    follow_directory(temporary, path.parent)
                _begin_anew(temporary)
                sync_content(temporary)
            self._give_name(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        sync_directory(path.parent)

    def copy(self, source: str, destination: str) -> None:
        """Give the file a second name."""
        self.create(destination, self._path(source))

    def fetch(self, key: str, path: Path, size: int, sha256: str | None) -> None:
        """Link the file to ``path``, or copy it where it cannot be linked, and check its content."""
        source = self._path(key)

        def fetched() -> None:
            make_directory(path.parent)
            temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
            try:
                link_or_copy(source, temporary)
                _check(source, temporary, size, sha256)
                sync_content(temporary)
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
            sync_directory(path.parent)

        with writing(path):
            _persistently(fetched, source)

    @contextmanager
    def as_file(self, key: str, size: int, sha256: str | None) -> Iterator[Path]:
        """Check the file's content, and yield the path of the file itself."""
        path = self._path(key)
        with reading(path):
            try:
                _check(path, path, size, sha256)
            except FileNotFoundError:
                raise MissingObject(f"{path} is not there.") from None
        yield path

    def take(self, key: str, source: Objects, source_key: str, size: int, sha256: str) -> None:
        """Make ``source`` write the object straight to its path, without a copy in between."""
        path = self._path(key)
        source.fetch(source_key, path, size, sha256)
        with writing(path):
            _begin_anew(path)

    @contextmanager
    def alone(self, folder: str) -> Iterator[None]:
        """Hold a lock of the directory for the block, where there is one."""
        path = self.root / checked_prefix(folder)
        with ExitStack() as held:
            if path.is_dir():
                with writing(path):
                    held.enter_context(locked(path / _LOCK))
            yield

    def names(self, prefix: str) -> list[ListedObject]:
        """Return the files below a directory, without those that begin with a dot or lie in a directory that does."""
        folder = self.root / checked_prefix(prefix)
        found: list[ListedObject] = []
        with reading(folder):
            _list(str(folder), folder.relative_to(self.root).as_posix(), found)
        return sorted(found, key=lambda one: one.key)

    def folders(self, prefix: str) -> list[str]:
        """Return the names of the directories in a directory, without those that begin with a dot."""
        folder = self.root / checked_prefix(prefix)
        with reading(folder):
            try:
                return sorted(one.name for one in folder.iterdir() if one.is_dir() and not one.name.startswith("."))
            except FileNotFoundError:
                return []

    def delete(self, keys: Iterable[str]) -> int:
        """Delete files, and the directories that are empty then. A file with another name left frees nothing. None is
        back after a power cut."""
        freed, changed = 0, dict[Path, None]()
        for key in keys:
            path = self._path(key)
            with writing(path):
                folder = path.parent
                with suppress(FileNotFoundError):
                    found = path.lstat()
                    path.unlink()
                    changed[folder] = None
                    freed += found.st_size if found.st_nlink == 1 else 0
                with suppress(OSError):  # one that holds something, or is gone already
                    while folder != self.root:
                        _remove_empty(folder)
                        folder = folder.parent
                        changed[folder] = None
        for folder in changed:
            with writing(folder), suppress(FileNotFoundError):  # removed, too
                sync_directory(folder)
        return freed

    def _path(self, key: str) -> Path:
        return self.root / checked_key(key)

    @contextmanager
    def _changing(self, path: Path) -> Iterator[None]:
        make_directory(path.parent)
        with locked(path.parent / _LOCK):
            yield

    def _give_name(self, temporary: Path, path: Path) -> None:
        try:
            path.hardlink_to(temporary)  # unlike a rename, never in place of a file that is there
        except FileExistsError:
            with suppress(FileNotFoundError):  # it was there, and is gone by now
                if _same(temporary, path):
                    return
                raise Conflict(f"{path} already exists with different content.") from None
            self._give_name(temporary, path)
        except OSError:  # a file system without links
            with locked(path.parent / _LOCK):
                if path.exists() and not _same(temporary, path):
                    raise Conflict(f"{path} already exists with different content.") from None
                temporary.replace(path)


def _persistently(written: Callable[[], None], source: Path | bytes) -> None:
    """Write a file, again where a prune took its directory, which was still empty, for one that is left over. Raises
    ``MissingObject`` where the ``source`` is not there."""
    for tries_left in reversed(range(_TRIES)):
        try:
            written()
        except FileNotFoundError:
            if isinstance(source, Path) and not source.exists():
                raise MissingObject(f"{source} is not there.") from None
            if not tries_left:
                raise
        else:
            return


def _tag(data: bytes) -> str:
    return blake3(data).hexdigest(16)


def _remove_empty(folder: Path) -> None:
    """Remove a directory without objects, and what killed processes left in it. Raises ``OSError`` for another."""
    left = list(folder.iterdir())
    folders = [path for path in left if path.is_dir() and not path.name.startswith(".")]
    temporary = [path for path in left if path.name.startswith(".") and path.suffix == ".tmp"]
    if len(folders) + len(temporary) == len(left):
        for path in folders:
            _remove_empty(path)
        for path in temporary:
            path.unlink(missing_ok=True)
    folder.rmdir()


def _begin_anew(path: Path) -> None:
    """Make a file read-only, since links may share it, and as old as its newest name."""
    with suppress(PermissionError):  # a link to another user's file
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o222)
        os.utime(path)


def _check(source: Path, path: Path, size: int, sha256: str | None) -> None:
    """Raise ``DamagedObject``, naming ``source``, where the file at ``path`` has another size or SHA-256."""
    with path.open("rb") as opened:
        found = os.fstat(opened.fileno()).st_size
        if found != size:
            raise DamagedObject(f"{source}: has {found:,} bytes instead of {size:,}.")
        if sha256 is not None and (digest := hashlib.file_digest(opened, "sha256").hexdigest()) != sha256:
            raise DamagedObject(f"{source}: has the SHA-256 {digest} instead of {sha256}.")


def _same(one: Path, other: Path) -> bool:
    with one.open("rb") as left, other.open("rb") as right:
        if os.fstat(left.fileno()).st_size != os.fstat(right.fileno()).st_size:
            return False
        while data := left.read(_COMPARED_AT_ONCE):
            if right.read(_COMPARED_AT_ONCE) != data:
                return False
    return True


def _list(folder: str, key: str, found: list[ListedObject]) -> None:
    """Add the files below a directory, of which the root is ``.``; what is gone meanwhile is left out."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            below = entry.name if key == "." else f"{key}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                _list(entry.path, below, found)
            elif not entry.is_dir():
                with suppress(FileNotFoundError):
                    status = entry.stat()
                    found.append(ListedObject(below, status.st_size, status.st_mtime_ns // 1_000_000))

"""Power cuts: what a disk has of files and names that were not brought to it yet, as POSIX promises it and no more.

A file's content is there since it was synced last, and a name since its directory was. Of all that came afterwards a
part is there after a power cut: of the names of each directory those that were made first; of a file the old content,
the new one, one that is torn, or zeros. What is older than half a minute the system has written by itself.
"""

from __future__ import annotations

import os
import random
import stat
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

_BY_ITSELF = 30_000_000
"""Microseconds after which a system writes what nobody has synced."""
_KEPT = Path("lost+found")
"""The folder of the files that have lost a name, as long as a power cut may give it back."""


class _Named(NamedTuple):
    """A change of a name in a directory."""

    at: int
    name: str
    before: Any
    """What had the name: a path in ``_KEPT`` of a file, the number of a directory, ``None`` for nothing."""


class _Written(NamedTuple):
    at: int
    before: bytes
    """The content when the file was synced last."""


class Unsynced:
    """All that a power cut may take from the disks of a world."""

    def __init__(self, clock: Callable[[], int]) -> None:
        """``clock`` counts in microseconds."""
        self._clock = clock
        self._names: dict[int, list[_Named]] = {}
        self._contents: dict[int, _Written] = {}
        self._kept = 0
        self.links: Counter[int] = Counter()
        """The names in ``_KEPT`` of each file, by its number."""
        self._link, self._unlink, self._rename, self._mkdir = os.link, os.unlink, os.rename, os.mkdir
        self._stat, self._lstat, self._fstat, self._open = os.stat, os.lstat, os.fstat, open
        self._scandir, self._chmod = os.scandir, os.chmod
        _KEPT.mkdir()

    # What happens to files. Each is called before it happens, in between nothing else does.

    def names(self, *paths: Any) -> None:
        """Note that names are about to stand for something else, or for nothing any more."""
        for path in paths:
            folder, name = os.path.split(os.fspath(path))
            try:
                directory = self._stat(folder or ".").st_ino
            except OSError:
                return  # it will fail
            changes = self._names.setdefault(directory, [])
            while changes and changes[0].at < self._clock() - _BY_ITSELF:
                self._forget(changes.pop(0))
            changes.append(_Named(self._clock(), name, self._kept_file(path)))

    def _kept_file(self, path: Any) -> Any:
        try:
            found = self._lstat(path)
        except OSError:
            return None
        if stat.S_ISDIR(found.st_mode):
            return found.st_ino
        self._kept += 1
        kept = f"{_KEPT}/{self._kept}"
        self._link(path, kept)
        self.links[found.st_ino] += 1
        return kept

    def writes(self, file: Any) -> None:
        """Note that a file, by its path or descriptor, is about to get another content."""
        found = self._fstat(file) if isinstance(file, int) else self._stat(file)
        there = self._contents.get(found.st_ino)
        if there is not None and there.at >= self._clock() - _BY_ITSELF:
            return
        path = f"/proc/self/fd/{file}" if isinstance(file, int) else file
        with self._open(path, "rb") as opened:
            self._contents[found.st_ino] = _Written(self._clock(), opened.read())

    def synced(self, descriptor: int) -> None:
        """Note that a file's content, or a directory's names, are on the disk."""
        number = self._fstat(descriptor).st_ino
        self._contents.pop(number, None)
        for one in self._names.pop(number, ()):
            self._forget(one)

    def _forget(self, change: _Named) -> None:
        if isinstance(change.before, str):
            self.links[self._lstat(change.before).st_ino] -= 1
            self._unlink(change.before)

    # The power cut.

    def cut(self, root: Path, chance: random.Random) -> None:
        """Take away what is not on the disk yet of the files below ``root``, as far as chance wants it."""
        self._settle_names(str(root), self._stat(root).st_ino, chance)
        for path in self._files(str(root)):
            written = self._contents.pop(self._stat(path).st_ino, None)
            if written is not None and written.at >= self._clock() - _BY_ITSELF:
                mode = stat.S_IMODE(self._stat(path).st_mode)
                self._chmod(path, mode | stat.S_IWUSR | stat.S_IRUSR)
                with self._open(path, "r+b") as opened:
                    content = _left(written.before, opened.read(), chance)
                    opened.seek(0)
                    opened.write(content)
                    opened.truncate()
                self._chmod(path, mode)
        for folder in self._folders(str(root)):
            for one in self._names.pop(self._stat(folder).st_ino, ()):
                self._forget(one)

    def _settle_names(self, folder: str, directory: int, chance: random.Random) -> None:
        changes = self._names.pop(directory, [])
        fresh = [one for one in changes if one.at >= self._clock() - _BY_ITSELF]
        lost = fresh[chance.choice((0, len(fresh), round(chance.random() * len(fresh)))) :]
        before: dict[str, Any] = {}
        for one in lost:
            before.setdefault(one.name, one.before)
        for name in before:
            self._take_away(f"{folder}/{name}")
        for name, what in before.items():
            self._give_back(f"{folder}/{name}", what)
        for one in changes:
            self._forget(one)
        numbers = {name: what for name, what in before.items() if isinstance(what, int)}
        for entry in sorted(self._scandir(folder), key=lambda one: one.name):
            if entry.is_dir(follow_symlinks=False):
                self._settle_names(entry.path, numbers.get(entry.name, entry.inode()), chance)

    def _take_away(self, path: str) -> None:
        try:
            found = self._lstat(path)
        except OSError:
            return
        if stat.S_ISDIR(found.st_mode):
            self._rename(path, f"{_KEPT}/directory-{found.st_ino}")
        else:
            self._unlink(path)

    def _give_back(self, path: str, what: Any) -> None:
        if isinstance(what, str):
            self._link(what, path)
        elif isinstance(what, int):
            try:
                self._rename(f"{_KEPT}/directory-{what}", path)
            except FileNotFoundError:
                self._mkdir(path)

    def _files(self, folder: str) -> list[str]:
        return [
            entry.path
            for one in self._folders(folder)
            for entry in sorted(self._scandir(one), key=lambda found: found.name)
            if entry.is_file(follow_symlinks=False)
        ]

    def _folders(self, folder: str) -> list[str]:
        found = [folder]
        for entry in sorted(self._scandir(folder), key=lambda one: one.name):
            if entry.is_dir(follow_symlinks=False):
                found += self._folders(entry.path)
        return found


def _left(before: bytes, after: bytes, chance: random.Random) -> bytes:
    """Return what a power cut leaves of a file's content."""
    beyond = after[len(before) :] if after.startswith(before) else b""
    torn = beyond[: int(chance.random() * len(beyond))]
    return chance.choice((before, after, before + torn, (before + torn).ljust(len(after), b"\0")))

"""The disks of machines: real files in memory, behind doors at which each operation takes time, fails, or is the last.

The doors stand in the place of functions of ``os``, ``io`` and others. What a file's time is, the simulated clock says.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
from collections.abc import Callable
from typing import Any

from tests.simulation.below.power import Unsynced
from tests.simulation.below.scheduler import Scheduler

_QUICK = 120
"""Microseconds that an operation takes, at most."""
_NAME = 4096
"""Bytes that a new name takes."""
_OF_NAMES = frozenset({"unlink", "remove", "rmdir", "mkdir"})


class Status:
    """What ``os.stat`` returns, with the times of the simulated clock."""

    __slots__ = (
        "st_atime",
        "st_atime_ns",
        "st_blocks",
        "st_ctime",
        "st_ctime_ns",
        "st_dev",
        "st_gid",
        "st_ino",
        "st_mode",
        "st_mtime",
        "st_mtime_ns",
        "st_nlink",
        "st_size",
        "st_uid",
    )

    def __init__(self, found: os.stat_result, at: int) -> None:
        self.st_mode, self.st_ino, self.st_dev, self.st_nlink = found[:4]
        self.st_uid, self.st_gid, self.st_size = found[4:7]
        self.st_blocks = found.st_blocks
        self.st_atime_ns = self.st_mtime_ns = self.st_ctime_ns = at
        self.st_atime = self.st_mtime = self.st_ctime = at / 1e9


class _WrittenFile:
    """A file that is written to: each write is an operation of its disk."""

    def __init__(self, disks: Disks, file: Any) -> None:
        self._disks, self._file = disks, file

    def write(self, data: Any) -> int:
        def torn(part: float) -> None:
            self._disks.writes(self._file.fileno())
            self._file.write(data[: int(part * len(data))])

        self._disks.operation("write", grows=len(data), torn=torn)
        self._disks.writes(self._file.fileno())
        written: int = self._file.write(data)
        self._disks.written(self._file.fileno())
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> _WrittenFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __iter__(self) -> Any:
        return iter(self._file)


class Disks:
    """The disks of all machines of a world: what is below the current directory, by relative paths."""

    def __init__(self, scheduler: Scheduler, dies: Callable[[], bool]) -> None:
        """``dies`` decides whether the process of the current actor dies at this operation."""
        self._scheduler = scheduler
        self._dies = dies
        self._times: dict[int, int] = {}
        self.moved: Callable[[str], object] = lambda _path: None
        """Is called with the path of each file that has taken the place of another."""
        self.unsynced: Unsynced | None = None
        """What a power cut may take, where there are any."""
        self._stat, self._lstat, self._fstat = os.stat, os.lstat, os.fstat

    def operation(self, name: str, *, grows: int = 0, torn: Callable[[float], object] = lambda _part: None) -> None:
        """Let an operation of the current actor take its time. Raises ``Died``, and ``OSError`` on a full disk.

        ``grows`` is the number of bytes for which there has to be room. ``torn`` does a part of the operation, which it
        may be when the process dies.
        """
        actor = self._scheduler.current
        self._scheduler.pause(1 + int(_QUICK * actor.chance.random()))
        if self._dies():
            torn(actor.chance.random())
            self._scheduler.kill(actor.process)
            self._scheduler.pause(0)
        machine = actor.process.machine
        if grows and machine.is_full:
            if grows > machine.room:
                actor.process.disturbed = True
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            machine.room -= grows

    def written(self, descriptor: int) -> None:
        """Note that a file was written to now."""
        self._times[self._fstat(descriptor).st_ino] = self._now()

    def writes(self, file: Any) -> None:
        """Note that a file is about to be written to."""
        if self.unsynced is not None:
            self.unsynced.writes(file)

    def names(self, *paths: Any) -> None:
        """Note that names are about to change."""
        if self.unsynced is not None:
            self.unsynced.names(*paths)

    def size(self, path: str) -> int:
        """Return the bytes of a file, by nobody's operation; 0 where there is none."""
        try:
            return self._stat(path).st_size
        except OSError:
            return 0

    def _now(self) -> int:
        actor = self._scheduler.current
        machine = None if actor is None else actor.process.machine
        return self._scheduler.now * 1000 if machine is None else machine.wall_ns()

    def _status(self, found: os.stat_result) -> Status:
        status = Status(found, self._times.get(found.st_ino, 0))
        if self.unsynced is not None:
            status.st_nlink -= self.unsynced.links[found.st_ino]
        return status

    def _is_there(self, path: Any) -> bool:
        try:
            self._lstat(path)
        except OSError:
            return False
        return True

    def _is_ours(self, path: Any) -> bool:
        if isinstance(path, int):
            return True
        text = os.fspath(path)
        return isinstance(text, str) and text[:1] != "/"

    def doors(self) -> list[tuple[Any, str, Any]]:
        """Return what stands in the place of what: (module, name, function)."""
        plain = ("listdir", "scandir", "unlink", "remove", "rmdir", "chmod", "fchmod", "fsync", "truncate", "readlink")
        made: list[tuple[Any, str, Any]] = [(os, name, self._plain(getattr(os, name))) for name in plain]
        made += [
            (os, "open", self._opening(os.open)),
            (os, "close", self._closing(os.close)),
            (os, "fdopen", self._fdopen(os.fdopen)),
            (os, "write", self._writing(os.write)),
            (os, "pwrite", self._pwriting(os.pwrite)),
            (os, "ftruncate", self._changing(os.ftruncate)),
            (os, "posix_fallocate", self._allocating(os.posix_fallocate)),
            (os, "mkdir", self._plain(os.mkdir, grows=_NAME)),
            (os, "rename", self._moving(os.rename)),
            (os, "replace", self._moving(os.replace)),
            (os, "link", self._moving(os.link)),
            (os, "utime", self._dating()),
            (os, "stat", self._asking(os.stat)),
            (os, "lstat", self._asking(os.lstat)),
            (os, "fstat", self._asking(os.fstat)),
            (os, "statvfs", self._room(os.statvfs)),
            (io, "open", self._io_opening(io.open)),
            (shutil, "_use_fd_functions", False),
        ]
        return made

    def _plain(self, real: Callable[..., Any], *, grows: int = 0) -> Callable[..., Any]:
        def door(path: Any, *arguments: Any, **options: Any) -> Any:
            if self._scheduler.current is None or not self._is_ours(path):
                return real(path, *arguments, **options)
            self.operation(real.__name__, grows=grows)
            if real.__name__ in _OF_NAMES:
                self.names(path)
            elif real.__name__ == "truncate":
                self.writes(path)
                self._scheduler.current.process.machine.room += max(0, self._stat(path).st_size - arguments[0])
            result = real(path, *arguments, **options)
            if real.__name__ == "fsync" and self.unsynced is not None:
                self.unsynced.synced(path)
            return result

        return door

    def _opening(self, real: Callable[..., int]) -> Callable[..., int]:
        def door(path: Any, flags: int, mode: int = 0o777, **options: Any) -> int:
            actor = self._scheduler.current
            if actor is None or not self._is_ours(path):
                return real(path, flags, mode, **options)
            creates = flags & os.O_CREAT and not self._is_there(path)
            self.operation("open", grows=_NAME if creates else 0)
            if creates:
                self.names(path)
            elif flags & os.O_TRUNC:
                self.writes(path)
            descriptor = real(path, flags, mode, **options)
            actor.process.descriptors.add(descriptor)
            if creates or flags & os.O_TRUNC:
                self.written(descriptor)
            return descriptor

        return door

    def _closing(self, real: Callable[[int], None]) -> Callable[[int], None]:
        def door(descriptor: int) -> None:
            actor = self._scheduler.current
            if actor is not None:
                if not actor.process.is_alive and descriptor not in actor.process.descriptors:
                    return  # closed when the process was killed
                actor.process.descriptors.discard(descriptor)
            real(descriptor)

        return door

    def _fdopen(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def door(descriptor: int, mode: str = "r", *arguments: Any, **options: Any) -> Any:
            actor = self._scheduler.current
            if actor is None:
                return real(descriptor, mode, *arguments, **options)
            if not actor.process.is_alive:
                self._scheduler.pause(0)
            return real(descriptor, mode, *arguments, **options)  # through ``io.open``

        return door

    def _writing(self, real: Callable[[int, Any], int]) -> Callable[[int, Any], int]:
        def door(descriptor: int, data: Any) -> int:
            actor = self._scheduler.current
            if actor is None:
                return real(descriptor, data)
            if actor.process.machine.is_full and len(data) > 1 and actor.chance.random() < 0.5:
                self.operation("write")  # as much as there is room for
                data = data[: int(len(data) * actor.chance.random())]
            else:
                self.operation("write", grows=len(data))
            self.writes(descriptor)
            written = real(descriptor, data)
            self.written(descriptor)
            return written

        return door

    def _pwriting(self, real: Callable[..., int]) -> Callable[..., int]:
        def door(descriptor: int, data: Any, offset: int) -> int:
            actor = self._scheduler.current
            if actor is None:
                return real(descriptor, data, offset)
            self.operation("pwrite", grows=max(0, offset + len(data) - self._fstat(descriptor).st_size))
            self.writes(descriptor)
            written = real(descriptor, data, offset)
            self.written(descriptor)
            return written

        return door

    def _changing(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def door(descriptor: int, *arguments: Any) -> Any:
            if self._scheduler.current is not None:
                self.operation(real.__name__)
                self.writes(descriptor)
            result = real(descriptor, *arguments)
            self.written(descriptor)
            return result

        return door

    def _allocating(self, real: Callable[[int, int, int], None]) -> Callable[[int, int, int], None]:
        def door(descriptor: int, begin: int, size: int) -> None:
            if self._scheduler.current is not None:
                self.operation("posix_fallocate", grows=max(0, begin + size - self._fstat(descriptor).st_size))
                self.writes(descriptor)
            real(descriptor, begin, size)
            self.written(descriptor)

        return door

    def _moving(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def door(source: Any, destination: Any, **options: Any) -> Any:
            ours = self._scheduler.current is not None and self._is_ours(destination)
            if ours:
                self.operation(real.__name__)
                self.names(*([] if real.__name__ == "link" else [source]), destination)
            result = real(source, destination, **options)
            if ours:
                self.moved(os.fspath(destination))
            return result

        return door

    def _dating(self) -> Callable[..., None]:
        def door(path: Any, times: Any = None, *, ns: Any = None, **_: Any) -> None:
            if self._scheduler.current is not None:
                self.operation("utime")
            found = self._stat(path)
            at = ns[1] if ns is not None else int(times[1] * 1e9) if times is not None else self._now()
            self._times[found.st_ino] = at

        return door

    def _asking(self, real: Callable[..., os.stat_result]) -> Callable[..., Any]:
        def door(path: Any, *arguments: Any, **options: Any) -> Any:
            if self._scheduler.current is None or not self._is_ours(path):
                return real(path, *arguments, **options)
            self.operation("stat")
            return self._status(real(path, *arguments, **options))

        return door

    def _room(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def door(path: Any) -> Any:
            actor = self._scheduler.current
            if actor is None:
                return real(path)
            self.operation("statvfs")
            real(path)
            blocks = 1 << 24
            free = 0 if actor.process.machine.is_full else blocks // 2
            return os.statvfs_result((4096, 4096, blocks, free, free, 1 << 20, 1 << 19, 1 << 19, 0, 255))

        return door

    def _io_opening(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def door(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
            actor = self._scheduler.current
            if actor is None or not self._is_ours(file):
                return real(file, mode, *arguments, **options)
            writes = any(one in mode for one in "wxa+")
            if isinstance(file, int):
                actor.process.descriptors.discard(file)
                opened = real(file, mode, *arguments, **options)
                return _WrittenFile(self, opened) if writes else opened
            is_new = writes and not self._is_there(file)
            self.operation("open", grows=_NAME if is_new else 0)
            if is_new:
                self.names(file)
            elif "w" in mode:
                self.writes(file)
            opened = real(file, mode, *arguments, **options)
            if not writes:
                return opened
            self.written(opened.fileno())
            return _WrittenFile(self, opened)

        return door

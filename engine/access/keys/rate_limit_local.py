"""The rate limit of one machine: sliding logs that all its worker processes share, in a file of the cache directory.

The logs lie in a small LMDB database, mapped into the memory of every worker. It keeps what was written when a
process is killed at any instant; it is never flushed to disk by us, so a check costs microseconds. LMDB's own
locking is off: on macOS a killed process would hold its semaphore for ever. A file lock excludes the others
instead, which the kernel releases when its holder dies, and which can be waited for with a limit.
"""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import threading
import time
from bisect import bisect_right
from contextlib import ExitStack, suppress
from pathlib import Path

import lmdb

from engine.access.keys.rate_limit import WINDOW_MS, Allowance
from snapshots.problems import ParquetryError
from snapshots.store.durable import allocate

NAME_BYTES = 16
MAP_BYTES = 16 << 20
"""The size of the file: room for the full windows of some 3,000 keys at the default limit."""
CHUNK = 128
"""Instants in one record, so that a request writes at most a kilobyte, however high its key's limit."""
LOCK_SECONDS = 1.0
"""Seconds that a request waits for other workers at most. Each holds the lock for some 5 µs, unless it was stopped."""

_HEAD = struct.Struct("<qqqq")
"""The head of a log: numbers of the oldest request in the window and of the next, instants of oldest and newest."""
_STAMP = struct.Struct("<q")
_SPINS = 16
"""Tries, each some 1.5 µs, before the first nap: one that naps comes back to caches that others have filled."""
_NAP_SECONDS = 0.00005
_DROPPED_AT_ONCE = 16
_HOPELESS = (lmdb.InvalidError, lmdb.CorruptedError, lmdb.VersionMismatchError, lmdb.MapFullError)
"""The errors of a file that a new one replaces."""
_DAY_MS = 86_400_000


class WindowsUnavailable(ParquetryError):
    """The logs this machine's workers share cannot be used."""


class LocalWindows:
    """The logs of the keys, shared by every process that opened the same directory on this machine."""

    def __init__(self, directory: Path, *, now: int, window: int = WINDOW_MS) -> None:
        """Open or create the logs; ``now`` is UTC milliseconds. Raises ``WindowsUnavailable``, also where there is no
        directory to make ``directory`` in.

        A process may open a directory only once.
        """
        self._window = window
        self._directory = directory
        self._thread = threading.Lock()
        self._check_due = False
        self._tidied_at = now
        # What is not flushed may be torn after a power cut, and reading a torn map could end the process: every
        # start of the machine begins a file of its own.
        name = f"windows-{_boot_id()}"
        self._file = directory / f"{name}.mdb"
        try:
            directory.mkdir(exist_ok=True)
            self._guard = _FileLock(directory / f"{name}.lock")
        except OSError as error:
            raise self._unavailable(error) from error
        try:
            self._environment = self._opened(now)
        except (lmdb.Error, OSError) as error:
            self._guard.close()
            raise self._unavailable(error) from error

    def take(self, name: bytes, limit: int, now: int) -> Allowance:
        """Ask for one request of the key ``name`` (16 bytes) at ``now`` (UTC milliseconds).

        A clock that was set back by less than a window counts on from the newest request; by more, the key's
        window starts afresh. Raises ``WindowsUnavailable``.
        """
        try:
            self._thread.acquire()  # without "with", whose entering and leaving would cost a tenth of the whole
            try:
                self._guard.acquire()
                try:
                    self._check_size()
                    if self._check_due:
                        self._check_file(now)
                    return self._take(name, limit, now)
                finally:
                    self._guard.release()
            finally:
                self._thread.release()
        except (lmdb.Error, OSError) as error:
            raise self._unavailable(error) from error

    def give_back(self, name: bytes) -> None:
        """Undo the newest request of a key, which was refused elsewhere. Raises ``WindowsUnavailable``."""
        try:
            with self._thread, self._guard:
                self._check_size()
                with self._environment.begin(write=True) as transaction:
                    _remove_newest(transaction, name)
        except (lmdb.Error, OSError) as error:
            raise self._unavailable(error) from error

    def close(self) -> None:
        """Close the file, which stays for the other workers and for the next start."""
        with self._thread:
            self._environment.close()
            os.close(self._descriptor)
            self._guard.close()

    def _take(self, name: bytes, limit: int, now: int) -> Allowance:
        window = self._window
        transaction = self._environment.begin(write=True, buffers=True)
        try:
            head = transaction.get(name)
            first, end, oldest, newest = _HEAD.unpack(head) if head is not None else (0, 0, 0, 0)
            if newest - now > window:
                first = end
            stamp = now
            if first < end:
                # Another worker may have read the clock a moment later and written first: the log stays sorted.
                stamp = max(now, newest)
                if oldest <= stamp - window:
                    first, oldest = _first_after(transaction, name, first, end, stamp - window)
            count = end - first
            if count < limit:
                number = end // CHUNK
                stamps = transaction.get(_chunk(name, number), b"") if end % CHUNK else b""
                if not stamps:
                    self._check_due = True
                    _drop_chunks(transaction, name, first // CHUNK)
                transaction.put(_chunk(name, number), b"".join((stamps, _STAMP.pack(stamp))))
                transaction.put(name, _HEAD.pack(first, end + 1, oldest if count else stamp, stamp))
                transaction.commit()
                reset = min(window, (oldest if count else stamp) + window - now)
                return Allowance(True, limit, limit - count - 1, reset, window)
            blocking = oldest if count == limit else _stamp_at(transaction, name, first + count - limit)
            return Allowance(False, limit, 0, min(window, blocking + window - now), window)
        finally:
            transaction.abort()  # nothing after a commit

    def _opened(self, now: int) -> lmdb.Environment:
        if not self._file.exists():
            self._remove_old_files(now)
            self._create(replace=False)
        with self._guard, suppress(*_HOPELESS):
            return self._open_tidied(now)
        self._create(replace=True)
        with self._guard:
            return self._open_tidied(now)

    def _open_tidied(self, now: int) -> lmdb.Environment:
        with ExitStack() as opened:
            descriptor = os.open(self._file, os.O_RDWR | os.O_CLOEXEC)
            opened.callback(os.close, descriptor)
            found = os.fstat(descriptor)
            if found.st_size != MAP_BYTES:
                raise lmdb.InvalidError(f"{self._file} is cut off")
            allocate(descriptor, 0, MAP_BYTES)
            environment = self._open(self._file)
            opened.callback(environment.close)
            self._drop_expired(environment, now)
            opened.pop_all()
        self._descriptor, self._inode = descriptor, found.st_ino
        return environment

    def _remove_old_files(self, now: int) -> None:
        for path in self._directory.glob("windows-*"):
            # A younger one may be in use by another machine that shares the directory.
            if path.stem != self._file.stem and now - path.stat().st_mtime_ns // 1_000_000 > _DAY_MS:
                path.unlink()

    def _create(self, *, replace: bool) -> None:
        new = self._file.with_name(f"{self._file.stem}.{os.getpid()}.new")
        new.unlink(missing_ok=True)
        try:
            self._open(new).close()
            with new.open("r+b") as file:
                allocate(file.fileno(), 0, MAP_BYTES)
            with self._guard:
                if replace or not self._file.exists():
                    new.replace(self._file)
        finally:
            new.unlink(missing_ok=True)

    def _open(self, file: Path) -> lmdb.Environment:
        return lmdb.open(
            str(file),
            map_size=MAP_BYTES,
            subdir=False,
            mode=0o600,
            sync=False,
            metasync=False,
            writemap=True,
            lock=False,
            meminit=False,
            max_spare_txns=1,
        )

    def _check_size(self) -> None:
        """Raise if the file was cut off, since reading the map behind its end would end the process."""
        if os.lseek(self._descriptor, 0, os.SEEK_END) < MAP_BYTES:  # a third of the time of fstat
            raise WindowsUnavailable(f"{self._file} was cut off.")

    def _check_file(self, now: int) -> None:
        """Check, at every ``CHUNK``-th request of a key, that the others use this file too, and that it has room."""
        self._check_due = False
        if self._file.stat().st_ino != self._inode:
            raise WindowsUnavailable(f"{self._file} was replaced.")
        used = self._environment.info()["last_pgno"] * self._environment.stat()["psize"]
        if used > MAP_BYTES * 3 // 4 and abs(now - self._tidied_at) >= self._window // 6:
            self._drop_expired(self._environment, now)

    def _drop_expired(self, environment: lmdb.Environment, now: int) -> None:
        self._tidied_at = now
        with environment.begin() as transaction:
            expired = [
                name
                for name, value in transaction.cursor()
                if len(name) == NAME_BYTES and _HEAD.unpack(value)[3] <= now - self._window
            ]
        for start in range(0, len(expired), _DROPPED_AT_ONCE):
            # Pages are copied before they change, and free again after the next transaction: few at a time.
            with environment.begin(write=True) as transaction:
                cursor = transaction.cursor()
                for name in expired[start : start + _DROPPED_AT_ONCE]:
                    while cursor.set_range(name) and cursor.key().startswith(name):
                        cursor.delete()

    def _unavailable(self, error: Exception) -> WindowsUnavailable:
        return WindowsUnavailable(f"The request counts in {self._directory} cannot be used: {error}.")


class _FileLock:
    """Excludes every other process that has the same lock file open, until left or until this process dies."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def acquire(self) -> None:
        """Raises ``TimeoutError`` after ``LOCK_SECONDS``."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._wait()

    def release(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def close(self) -> None:
        os.close(self._descriptor)

    def _wait(self) -> None:
        deadline = time.monotonic() + LOCK_SECONDS
        tries = 0
        while time.monotonic() < deadline:
            tries += 1
            if tries > _SPINS:
                time.sleep(_NAP_SECONDS)
            with suppress(BlockingIOError):
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
        raise TimeoutError(f"{self._path.name} was not free for {LOCK_SECONDS} s, as if a worker had been stopped")


def _boot_id() -> str:
    """Return the name of this start of the machine, which no other has."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:  # macOS
        command = ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _chunk(name: bytes, number: int) -> bytes:
    return name + number.to_bytes(8, "big")


def _stamps(transaction: lmdb.Transaction, name: bytes, number: int) -> memoryview:
    return memoryview(transaction.get(_chunk(name, number), b"")).cast("q")


def _stamp_at(transaction: lmdb.Transaction, name: bytes, position: int) -> int:
    return int(_stamps(transaction, name, position // CHUNK)[position % CHUNK])


def _first_after(transaction: lmdb.Transaction, name: bytes, first: int, end: int, instant: int) -> tuple[int, int]:
    """The number and instant of the first request after ``instant``; ``(end, 0)`` when there is none."""
    while first < end:
        start = first - first % CHUNK
        stamps = _stamps(transaction, name, first // CHUNK)
        position = bisect_right(stamps, instant, first % CHUNK)
        if position < len(stamps):
            return start + position, int(stamps[position])
        first = start + CHUNK
    return end, 0


def _drop_chunks(transaction: lmdb.Transaction, name: bytes, before: int) -> None:
    while before > 0 and transaction.delete(_chunk(name, before - 1)):
        before -= 1


def _remove_newest(transaction: lmdb.Transaction, name: bytes) -> None:
    head = transaction.get(name)
    if head is None:
        return
    first, end, oldest, newest = _HEAD.unpack(head)
    if first == end:
        return
    chunk = _chunk(name, (end - 1) // CHUNK)
    stamps = transaction.get(chunk, b"")[: -_STAMP.size]
    if stamps:
        transaction.put(chunk, stamps)
    else:
        transaction.delete(chunk)
    transaction.put(name, _HEAD.pack(first, end - 1, oldest, newest))

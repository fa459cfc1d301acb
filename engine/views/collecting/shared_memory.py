"""Memory that only the processes of one server share: it has no name, and is gone with the last of them.

Each worker process gets the file descriptor of the anonymous memory when it is started.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import secrets
import tempfile
import threading
import time
from importlib import import_module
from multiprocessing import reduction
from typing import Any, Final

from snapshots.store.durable import allocate

_SPINS: Final = 50
"""Attempts to get a lock before going on without it: some 5 ms, as its holder may have been stopped."""


class SharedMemory:
    """Zeroed memory of ``size`` bytes with one lock. Can be pickled only for a process that is being started."""

    def __init__(self, size: int, *, processes: int = 1, _descriptors: tuple[int, int] | None = None) -> None:
        """``processes`` is how many will share it. Raises ``OSError``."""
        self.size = size
        self._processes = processes
        if _descriptors is None:
            memory = _anonymous(size)
            # An empty file without a name, for its lock alone.
            with tempfile.TemporaryFile() as lock:
                _descriptors = (memory, os.dup(lock.fileno()))
        self._memory, self._lock = _descriptors
        # All pages together where the system can: a page fault each would cost more than the work on them.
        self.bytes = mmap.mmap(self._memory, size, flags=mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0))
        self._thread = threading.Lock()

    def __enter__(self) -> mmap.mmap:
        """Exclude the other processes and threads, for microseconds. A process that dies lets go of the lock."""
        self._thread.acquire()
        if self._processes == 1:
            return self.bytes
        for attempt in range(_SPINS):
            try:
                fcntl.lockf(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                time.sleep(0 if attempt < _SPINS // 2 else 0.0002)
        return self.bytes

    def __exit__(self, *_: object) -> None:
        if self._processes > 1:
            fcntl.lockf(self._lock, fcntl.LOCK_UN)
        self._thread.release()

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return _received, (self.size, self._processes, reduction.DupFd(self._memory), reduction.DupFd(self._lock))

    def close(self) -> None:
        """Let go of the memory; it stays for the other processes."""
        self.bytes.close()
        os.close(self._memory)
        os.close(self._lock)


def _received(size: int, processes: int, memory: Any, lock: Any) -> SharedMemory:
    """Return the memory behind descriptors that ``DupFd`` passed on."""
    return SharedMemory(size, processes=processes, _descriptors=(memory.detach(), lock.detach()))


def _anonymous(size: int) -> int:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("parquetry-visitors")
        allocate(descriptor, 0, size)
    else:  # macOS
        named = import_module("_posixshmem")  # the basis of multiprocessing.shared_memory
        name = f"/parquetry-{secrets.token_hex(8)}"
        descriptor = int(named.shm_open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode=0o600))
        named.shm_unlink(name)
        os.ftruncate(descriptor, size)
    return descriptor

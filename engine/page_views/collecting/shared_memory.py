"""Memory that the processes of one server share and nobody else can reach: without a name, gone with the last of them.

It is anonymous memory behind a file descriptor, which goes to each worker process as that is started.
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
"""How often a lock is asked for before going on without it: some 5 ms, against a worker that was stopped under it."""


class SharedMemory:
    """Zeroed memory of ``size`` bytes with one lock. Can be pickled only for a process that is being started."""

    def __init__(self, size: int, *, processes: int = 1, _descriptors: tuple[int, int] | None = None) -> None:
        """``processes`` is how many will share it. Raises ``OSError``."""
        self.size = size
        self._processes = processes
        if _descriptors is None:
            memory = _anonymous(size)
            # An empty file without a name: it holds nothing, it is only locked.
            with tempfile.TemporaryFile() as lock:
                _descriptors = (memory, os.dup(lock.fileno()))
        self._memory, self._lock = _descriptors
        # All pages at once where the system can: getting them one by one costs more than what is done with them.
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
    """``memory`` and ``lock`` are what ``DupFd`` made of the descriptors."""
    return SharedMemory(size, processes=processes, _descriptors=(memory.detach(), lock.detach()))


def _anonymous(size: int) -> int:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("parquetry-visitors")
        allocate(descriptor, 0, size)
    else:  # macOS
        named = import_module("_posixshmem")  # what multiprocessing.shared_memory is made of
        name = f"/parquetry-{secrets.token_hex(8)}"
        descriptor = int(named.shm_open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode=0o600))
        named.shm_unlink(name)
        os.ftruncate(descriptor, size)
    return descriptor

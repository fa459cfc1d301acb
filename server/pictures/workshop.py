"""Have pictures made in processes of their own: few at a time, each within limits, and none for a picture that ends
them."""

from __future__ import annotations

import logging
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from server.logs import LOGGER
from server.pictures.maker import HEAD_BYTES, MADE, MEMORY_BYTES, MEMORY_SETTING, READY, Job, answer_length, packed
from snapshots.locks import FileLock
from snapshots.problems import ParquetryError

MOST_WAITING: Final = 64
"""Pictures that wait to be made, in a process."""
WAIT_SECONDS: Final = 10.0
"""Seconds that a picture waits to be made at most."""
MAKE_SECONDS: Final = 60.0
"""Seconds after which a process that makes a picture hangs: it has had no processor."""
START_SECONDS: Final = 30.0
MOST_ASKED: Final = 200
"""Pictures after which a process ends: the library keeps some memory of each that is damaged."""

LIMITS: Final = {
    MEMORY_SETTING: str(MEMORY_BYTES),
    "MALLOC_ARENA_MAX": "2",
    "VIPS_CONCURRENCY": "1",
    "VIPS_DISC_THRESHOLD": "8g",  # no temporary files
}
"""What each process is told at its start."""

_OTHERS: Final = frozenset({0, -signal.SIGKILL, -signal.SIGTERM})
"""Ends of a process that were not the picture's doing, unless it happens again."""
_ENVIRONMENT: Final = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "VIRTUAL_ENV")

_log = logging.getLogger(LOGGER)


class PicturesBusy(ParquetryError):
    """More pictures are asked for than can be made in time (503). ``retry_after`` is in seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__("Many pictures are being made at the moment. Try again in a moment.")
        self.retry_after = retry_after


class _Gone(Exception):
    """The process ended. ``by_picture`` says whether that is the picture's doing."""

    def __init__(self, *, by_picture: bool) -> None:
        super().__init__()
        self.by_picture = by_picture


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Workshop:
    """Makes pictures, as many at once as there are processors but one: on a machine, by the locks in a directory."""

    def __init__(self, locks: Path) -> None:
        self._locks = locks
        self._slots = max(1, processors() - 1)
        self._threads = ThreadPoolExecutor(self._slots, "pictures")
        self._idle: list[_Maker] = []
        self._all: set[_Maker] = set()
        self._guard = threading.Lock()
        self._asked = 0
        self._seconds = 0.2
        """The mean of the seconds that a picture took of late."""

    def order(self, job: Job) -> Future[bytes | None]:
        """Return the picture that will be there, ``None`` for one that cannot be made; or it fails with
        ``PicturesBusy``, as this does where the queue is full. To be called on the event loop.

        Cancelling it takes it out of the queue, unless it is being made already.
        """
        with self._guard:
            if self._asked >= MOST_WAITING + self._slots:
                raise self._busy()
            self._asked += 1
        made: Future[bytes | None] = Future()
        made.add_done_callback(self._done)
        waiting = self._threads.submit(self._fulfil, made, job, time.monotonic() + WAIT_SECONDS)
        waiting.add_done_callback(lambda _: made.cancel())  # has no effect but when this stops
        return made

    def stop(self) -> None:
        """End all processes; nothing is made from now on."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._guard:
            for maker in self._all:
                maker.end()

    def _done(self, _: object) -> None:
        with self._guard:
            self._asked -= 1

    def _busy(self) -> PicturesBusy:
        return PicturesBusy(min(30, 1 + round(self._asked * self._seconds / self._slots)))

    def _fulfil(self, made: Future[bytes | None], job: Job, begin_by: float) -> None:
        """Make a picture as soon as it may be made, unless it is given up meanwhile."""
        with self._slot(made, begin_by) as may_begin:
            if not made.set_running_or_notify_cancel():
                return
            try:
                if not may_begin:
                    raise self._busy()
                made.set_result(self._made(job))
            except Exception as error:
                made.set_exception(error)

    def _made(self, job: Job) -> bytes | None:
        started = time.monotonic()
        for tries in (1, 2):
            maker = self._maker(new=tries == 2)
            try:
                made = self._made_by(maker, job)
            except _Gone as gone:
                if tries == 1 and (maker.asked > 1 or not gone.by_picture):
                    continue
                _log.warning("a picture ended the process that makes pictures, and goes out as it is: %s", job.path)
                return None
            break
        self._seconds += 0.1 * (time.monotonic() - started - self._seconds)
        return made

    def _maker(self, *, new: bool) -> _Maker:
        """Return a process that makes nothing at the moment."""
        with self._guard:
            if self._idle and not new:
                return self._idle.pop()
        maker = _Maker()
        with self._guard:
            self._all.add(maker)
        return maker

    def _made_by(self, maker: _Maker, job: Job) -> bytes | None:
        """Return what a process makes; it ends after many pictures, since damaged ones leave something behind."""
        is_good = False
        try:
            made = maker.make(job)
            is_good = maker.asked < MOST_ASKED
        finally:
            with self._guard:
                if is_good:
                    self._idle.append(maker)
                else:
                    maker.end()
                    self._all.discard(maker)
        return made

    @contextmanager
    def _slot(self, made: Future[bytes | None], until: float) -> Iterator[bool]:
        """Be one of those of this machine that make a picture, in the block: false where it is too late for that, or
        the picture was given up."""
        locks = [FileLock(self._locks / f"making-{number}.lock") for number in range(self._slots)]
        taken = None
        is_in_time = time.monotonic() <= until
        try:
            with suppress(OSError):  # on a full disk this process counts for itself
                while is_in_time and taken is None:
                    taken = next((lock for lock in locks if lock.take()), None)
                    if taken is None:
                        time.sleep(0.01)
                        is_in_time = time.monotonic() <= until and not made.cancelled()
            yield is_in_time
        finally:
            if taken is not None:
                taken.leave()


class _Maker:
    """One process that makes pictures. To be used by one thread at a time."""

    def __init__(self) -> None:
        kept = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        paths = os.pathsep.join(path for path in sys.path if path)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "server.pictures.maker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={**kept, **LIMITS, "PYTHONPATH": paths},
        )
        self._ready = False
        self.asked = 0
        """How many pictures it was asked for."""

    def make(self, job: Job) -> bytes | None:
        """Return a picture; ``None`` for one that cannot be made. Raises ``_Gone`` and ``PicturesBusy``."""
        assert self._process.stdin is not None  # it is a pipe
        if not self._ready:
            if self._read(1, time.monotonic() + START_SECONDS) != READY:
                raise _Gone(by_picture=False)
            self._ready = True
        self.asked += 1
        try:
            self._process.stdin.write(packed(job))
        except OSError:
            raise _Gone(by_picture=False) from None
        deadline = time.monotonic() + MAKE_SECONDS
        head = self._read(HEAD_BYTES, deadline)
        made = self._read(answer_length(head), deadline)
        return made if head[:1] == MADE else None

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self._process.wait()

    def _read(self, size: int, deadline: float) -> bytes:
        assert self._process.stdout is not None  # it is a pipe
        parts: list[bytes] = []
        poll = select.poll()
        poll.register(self._process.stdout, select.POLLIN)
        while size:
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise PicturesBusy(10)
            data = os.read(self._process.stdout.fileno(), min(size, 1 << 20))
            if not data:
                raise _Gone(by_picture=self._process.wait() not in _OTHERS)
            parts.append(data)
            size -= len(data)
        return b"".join(parts)

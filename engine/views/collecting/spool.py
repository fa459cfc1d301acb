"""The spool: counted views on their way into the store, as lines of segments (design section 5).

```
spool/<worker>/lock                 held by the worker while it lives
spool/<worker>/open-<n>.ndjson      being written
spool/<worker>/sealed-<n>.ndjson    complete: for the sinks
```
A worker's name is never used again, and its segments are numbered 1, 2, 3 without a gap and sealed in that order: so
"everything of this worker through n" says exactly which segments a sink holds. A line that is not ended by a line feed
was never acknowledged.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shutil
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from engine.views.collecting.targets import Kind
from snapshots.store.durable import (
    StoreError,
    make_directory,
    replace_durably,
    sync_content,
    sync_directory,
    sync_file,
    writing,
)
from snapshots.times import format_datetime

VIEWS: Final = "views"
"""The directory of a workspace with everything about its page views."""
SPOOL: Final = "spool"
_LOCK: Final = "lock"
_LINES_A_SEGMENT: Final = 10_000
"""Lines after which a segment is sealed, which bounds one step of a sink."""
_LEFTOVER_SECONDS: Final = 3600


class View(NamedTuple):
    """One counted view; as a line it is a JSON array in this order."""

    at: int
    """UTC milliseconds."""
    kind: Kind
    key: str
    origin: str
    """The host of the page."""


class SpoolFull(StoreError):
    """A view could not be written: the disk is full, or refuses."""

    def __init__(self, message: str, kept: int = 0) -> None:
        """``kept`` is the number of views that were written, from the first."""
        super().__init__(message)
        self.kept = kept


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(View).decode
_decode_all: Final = msgspec.json.Decoder(list[View]).decode


class SpoolWriter:
    """One worker's part of a workspace's spool. ``append`` and ``seal`` may be called in different threads."""

    def __init__(self, views: Path, now: int) -> None:
        """Take a place in ``views/spool`` under a name of its own; ``now`` (UTC milliseconds) is a part of it.

        Raises ``StoreError``.
        """
        moment = format_datetime(now).translate({ord(c): None for c in "-:."})
        name = f"{moment}-{os.getpid()}-{secrets.token_hex(6)}"
        spool = views / SPOOL
        self.directory: Final = spool / name
        with writing(spool):
            make_directory(spool)
            # Others read names without a dot only, and by then the lock is held.
            hidden = spool / f".{name}"
            hidden.mkdir()
            self._lock = os.open(hidden / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX)
                hidden.rename(self.directory)
                sync_directory(spool)
            except BaseException:
                os.close(self._lock)
                raise
        self._swap = threading.Lock()
        self._sealing = threading.Lock()
        self._file = -1
        self._number = 0
        self._size = 0
        self._lines = 0
        self._complete: list[tuple[int, int]] = []
        """Segments (number, file) that take no more lines and wait for being sealed."""

    def append(self, *views: View) -> None:
        """Write views, which outlive the process from now on. Raises ``SpoolFull`` with the number of those written."""
        lines = [_encode(view) + b"\n" for view in views]
        data = b"".join(lines)
        with self._swap:
            try:
                if self._file < 0:
                    self._open_next()
                written = os.write(self._file, data)
            except OSError as error:
                written, cause = 0, error.strerror or str(error)
            else:
                cause = "the disk is full"
            whole = data.rfind(b"\n", 0, written) + 1
            kept = len(lines) if whole == len(data) else data.count(b"\n", 0, whole)
            self._size += whole
            self._lines += kept
            if written > whole:
                self._cut_off()
            elif self._lines >= _LINES_A_SEGMENT:
                self._set_aside()
        if kept < len(lines):
            raise SpoolFull(f"a page view could not be written to {self.directory}: {cause}.", kept)

    def seal(self) -> int:
        """Sync the views to the disk and seal their segments for the writer. Returns the number of segments.

        Raises ``StoreError``; the next call tries the rest again.
        """
        with self._sealing:
            with self._swap:
                if self._file >= 0 and self._lines:
                    self._set_aside()
                waiting = list(self._complete)
            with writing(self.directory):
                for number, file in waiting:
                    sync_file(file)
                    _seal(self.directory, number)
                    os.close(file)
                    self._complete.pop(0)
                if waiting:
                    sync_directory(self.directory)
            return len(waiting)

    def close(self) -> None:
        """Seal what is left and give up the place; the writer removes it. Raises ``StoreError``."""
        try:
            self.seal()
        finally:
            os.close(self._lock)

    def abandon(self) -> None:
        """Give up a place that vanished; should it come back, the writer treats it as a dead worker's."""
        with self._sealing, self._swap:
            for file in (self._lock, self._file, *(file for _, file in self._complete)):
                if file >= 0:
                    os.close(file)
            self._lock = self._file = -1
            self._complete.clear()

    def _open_next(self) -> None:
        if self._lock < 0:
            raise FileNotFoundError(errno.ENOENT, "its place was taken away")
        number = self._number + 1
        path = self.directory / f"open-{number}.ndjson"
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o666)
        self._number, self._size, self._lines = number, 0, 0

    def _set_aside(self) -> None:
        self._complete.append((self._number, self._file))
        self._file = -1

    def _cut_off(self) -> None:
        """Remove a torn line, so that the next is not joined to it; where that fails, end the segment."""
        try:
            os.ftruncate(self._file, self._size)
        except OSError:
            self._set_aside()


@dataclass(frozen=True, slots=True)
class Segment:
    """A sealed segment: its worker, its number, and its file."""

    worker: str
    number: int
    path: Path

    def views(self) -> list[View]:
        """The views of the segment, in order; a torn last line and a malformed one are dropped. Raises ``OSError``."""
        return views_in(self.path.read_bytes())

    def replace(self, views: Iterable[View]) -> None:
        """Replace the views of the segment, before any sink has read it. Raises ``OSError``."""
        replace_durably(self.path, lines_of(views))


def views_in(data: bytes) -> list[View]:
    """Return the views in the content of a segment, in order; torn last lines and malformed ones are dropped."""
    lines = data.split(b"\n")[:-1]
    with suppress(msgspec.DecodeError, UnicodeDecodeError):
        views = _decode_all(b"[%b]" % b",".join(lines))
        if len(views) == len(lines):
            return views
    return list(_readable(lines))


def lines_of(views: Iterable[View]) -> bytes:
    """Return the content of a segment that holds the views."""
    return b"".join(_encode(view) + b"\n" for view in views)


def workers(views: Path) -> list[str]:
    """The names of all workers, living and dead, that have a place in the spool. Raises ``OSError``."""
    try:
        return sorted(entry.name for entry in (views / SPOOL).iterdir() if not entry.name.startswith("."))
    except FileNotFoundError:
        return []


def sealed_after(views: Path, worker: str, through: int) -> Iterator[Segment]:
    """A worker's sealed segments after number ``through``, in order: all from the first that is there."""
    directory = views / SPOOL / worker
    number = through + 1
    if not (directory / _sealed(number)).exists():
        later = (int(path.name[7:-7]) for path in directory.glob("sealed-*.ndjson"))
        number = min((n for n in later if n > through), default=number)
    while (path := directory / _sealed(number)).exists():
        yield Segment(worker, number, path)
        number += 1


def has_sealed(views: Path, worker: str) -> bool:
    """Whether a worker has any sealed segment. Raises ``OSError``."""
    return any(path.name.startswith("sealed-") for path in (views / SPOOL / worker).iterdir())


def remove_through(views: Path, worker: str, through: int) -> None:
    """Remove the segments of a worker that every sink holds: those numbered up to ``through``. Raises ``OSError``."""
    for segment in (views / SPOOL / worker).glob("sealed-*.ndjson"):
        if int(segment.name[7:-7]) <= through:
            segment.unlink()


@contextmanager
def dead_worker(views: Path, worker: str) -> Iterator[bool]:
    """Yield whether a worker is dead; then its open segments are sealed, and its lock is held during the block.

    Raises ``OSError``.
    """
    directory = views / SPOOL / worker
    try:
        lock = os.open(directory / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:  # removed halfway
        yield True
        return
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        opened = sorted(int(path.name[5:-7]) for path in directory.glob("open-*.ndjson"))
        for number in opened:
            sync_content(directory / f"open-{number}.ndjson")  # it has died between writing and syncing
            _seal(directory, number)
        if opened:
            sync_directory(directory)
        yield True
    finally:
        os.close(lock)


def remove_worker(views: Path, worker: str) -> None:
    """Remove the place of a dead worker of which every segment is removed. Raises ``OSError``."""
    shutil.rmtree(views / SPOOL / worker)
    # Counts forget how far they have come with whoever is gone, so that it must not be back after a power cut.
    sync_directory(views / SPOOL)


def remove_leftovers(views: Path) -> None:
    """Remove what workers left that were killed while they took their place. Raises ``OSError``."""
    for path in (views / SPOOL).glob(".*"):
        if time.time() - path.stat().st_mtime > _LEFTOVER_SECONDS:
            shutil.rmtree(path)


def _readable(lines: Iterable[bytes]) -> Iterator[View]:
    for line in lines:
        try:
            yield _decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue


def _sealed(number: int) -> str:
    return f"sealed-{number}.ndjson"


def _seal(directory: Path, number: int) -> None:
    (directory / f"open-{number}.ndjson").rename(directory / _sealed(number))

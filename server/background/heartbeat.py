"""What this server says of itself in the store, for people who ask whether it serves the current version.

Every process notes the versions that it serves in the cache of the machine; one of them, by a lock, writes all these
notes into one document of the store: every two minutes, and soon after a change. A store that cannot be written is
served all the same.
"""

from __future__ import annotations

import hashlib
import logging
import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from engine.administration.heartbeats import (
    EVERY_MS,
    Reader,
    ReaderProcess,
    ServedVersion,
    decode_process,
    encode_process,
    encode_reader,
    forget_silent,
    reader_key,
)
from server.logs import LOGGER
from server.workspaces.workspaces import ServedWorkspace, Workspaces
from snapshots.problems import ParquetryError
from snapshots.store.durable import make_directory, replace_file, writing
from snapshots.store.objects import ANY, Objects
from snapshots.store.store import Store
from snapshots.version import PROGRAM

FOLDER: Final = "readers"
LOCK: Final = "readers.lock"
LOOK_SECONDS: Final = 2.0
"""Seconds between two looks at the versions that this process serves."""
NOTE_MS: Final = 30_000
"""Milliseconds after which a process notes again what has not changed."""
CHANGED_MS: Final = 10_000
"""Milliseconds between two documents at least, and after a failure."""
FIRST_MS: Final = int(1.5 * LOOK_SECONDS * 1000)
"""Milliseconds from the start to the first document, in which the other processes are to stand, too."""
_LOST_MS: Final = 3 * NOTE_MS
"""Milliseconds after which the note of a process that says nothing any more is deleted."""
_FORGET_MS: Final = 24 * 3_600_000

_log = logging.getLogger(LOGGER)


class Heartbeat:
    """This process's part in it, in a thread between ``start`` and ``stop``."""

    def __init__(self, store: Store, objects: Objects, workspaces: Workspaces, clock: Callable[[], int]) -> None:
        """``store`` is what this machine reads, ``objects`` those that all machines share."""
        self._objects = objects
        self._workspaces = workspaces
        self._clock = clock
        self._root = store.root
        self._folder = store.cache / FOLDER
        self._lock = FileLock(store.cache / LOCK)
        place = f"{socket.gethostname()}:{store.cache.resolve()}"
        self._key = reader_key(hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:16])
        self._note = self._folder / f"{os.getpid()}.json"
        self._started_at = clock()
        self._noted: ReaderProcess | None = None
        self._written_at: int | None = None
        self._written: list[object] = []
        self._forgot_at: int | None = None
        self._complaint: str | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Begin to tell."""
        self._thread.start()

    def stop(self) -> None:
        """Take back what was told: this server ends."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(LOOK_SECONDS):
            now = self._clock()
            if not self._root.is_dir():  # moved or unmounted: nobody would look for anything in its old place
                continue
            try:
                self._note_down(now)
                self._write(now)
            except (ParquetryError, OSError) as error:
                self._written_at, self._written = now, []
                if str(error) != self._complaint:
                    _log.info("this server cannot report to the console's page of readers: %s", error)
                self._complaint = str(error)
            except Exception:
                _log.exception("reporting to the console's page of readers failed; it is tried again")
            else:
                self._complaint = None
        with suppress(ParquetryError, OSError):
            self._take_back()

    def _note_down(self, now: int) -> None:
        """Write down what this process serves, where that has changed or was written long ago."""
        workspaces = {one.id: _served(one) for one in self._workspaces.all()}
        noted = self._noted
        if noted is not None and noted.workspaces == workspaces and 0 <= now - noted.noted_at < NOTE_MS:
            return
        process = ReaderProcess(os.getpid(), self._started_at, now, workspaces)
        with writing(self._folder):
            make_directory(self._folder)
            replace_file(self._note, encode_process(process))
        self._noted = process

    def _write(self, now: int) -> None:
        """Write the document of this server, if this is the process that does and the document is due."""
        since, pause = (self._started_at, FIRST_MS) if self._written_at is None else (self._written_at, CHANGED_MS)
        if 0 <= now - since < pause:
            return
        if not self._lock.is_locked:
            try:
                self._lock.acquire(blocking=False)
            except Timeout:
                return
        processes = tuple(sorted(self._processes(now), key=lambda one: (one.started_at, one.pid)))
        says: list[object] = [(one.pid, one.started_at, one.workspaces) for one in processes]
        if self._written_at is not None and says in ([], self._written) and 0 <= now - self._written_at < EVERY_MS:
            return
        self._objects.replace(self._key, encode_reader(Reader(socket.gethostname(), PROGRAM, processes)), ANY)
        self._written_at, self._written = now, says
        if self._forgot_at is None or not 0 <= now - self._forgot_at < _FORGET_MS:
            self._forgot_at = now
            forget_silent(self._objects, now)

    def _take_back(self) -> None:
        """Delete what this process said, and the document of the server if no other process is left of it."""
        self._note.unlink(missing_ok=True)
        if self._lock.is_locked:
            if not self._processes(self._clock()):
                self._objects.delete([self._key])
            self._lock.release()

    def _processes(self, now: int) -> list[ReaderProcess]:
        """Return what the processes of this machine noted, and delete the notes of those that ended without a word."""
        found = []
        for path in self._folder.glob("*.json"):
            process = _read(path)
            if process is not None and now - process.noted_at < _LOST_MS:
                found.append(process)
            else:
                path.unlink(missing_ok=True)
        return found


def _served(workspace: ServedWorkspace) -> ServedVersion:
    snapshot, refusal = workspace.snapshots.served, workspace.snapshots.refusal
    refused = None if refusal is None else refusal.version
    if snapshot is None:
        return ServedVersion(None, None, refused)
    return ServedVersion(snapshot.reader.version, snapshot.since, refused)


def _read(path: Path) -> ReaderProcess | None:
    with suppress(OSError):
        return decode_process(path.read_bytes())
    return None

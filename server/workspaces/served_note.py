"""Note in the cache what a process serves, for the keeper of its machine.

The keeper tells people and webhooks of what is served, and opens no version for that.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from engine.administration.heartbeats import ReaderProcess, ServedVersion, decode_process, encode_process
from server.logs import LOGGER
from snapshots.problems import ParquetryError
from snapshots.store.durable import make_directory, replace_file, writing
from snapshots.store.store import Store

FOLDER: Final = "readers"
NOTE_MS: Final = 30_000
"""Milliseconds after which a process notes again what has not changed."""
LOST_MS: Final = 3 * NOTE_MS
"""Milliseconds after which the note of a process that says nothing any more is deleted."""

_log = logging.getLogger(LOGGER)


class ServedNote:
    """The note of this process. Used by one thread."""

    def __init__(self, store: Store, clock: Callable[[], int]) -> None:
        self._root = store.root
        self._file = store.cache / FOLDER / f"{os.getpid()}.json"
        self._clock = clock
        self._started_at = clock()
        self._noted: ReaderProcess | None = None
        self._complaint: str | None = None

    def write(self, workspaces: Mapping[str, ServedVersion]) -> None:
        """Note what is served, by workspace, where that has changed or was noted long ago. What cannot be written is
        logged once, and is no harm to answers."""
        now, noted = self._clock(), self._noted
        if noted is not None and noted.workspaces == workspaces and 0 <= now - noted.noted_at < NOTE_MS:
            return
        if not self._root.is_dir():  # moved or unmounted: nobody would look for anything in its old place
            return
        process = ReaderProcess(os.getpid(), self._started_at, now, workspaces)
        try:
            with writing(self._file):
                make_directory(self._file.parent)
                replace_file(self._file, encode_process(process))
        except (ParquetryError, OSError) as error:
            if str(error) != self._complaint:
                _log.info("this process cannot say what it serves: %s", error)
            self._complaint = str(error)
        else:
            self._noted, self._complaint = process, None

    def take_back(self) -> None:
        """Delete the note: this process ends."""
        with suppress(OSError):
            self._file.unlink(missing_ok=True)


def notes(cache: Path, now: int) -> list[ReaderProcess]:
    """Return what the processes of a machine noted, and delete the notes of those that ended without a word.

    Raises ``OSError``.
    """
    found = []
    for path in (cache / FOLDER).glob("*.json"):
        process = None
        with suppress(FileNotFoundError):
            process = decode_process(path.read_bytes())
        if process is not None and now - process.noted_at < LOST_MS:
            found.append(process)
        else:
            path.unlink(missing_ok=True)
    return found

"""The forms of pictures that were made, on the reader's disk, within a bound of bytes: the least recently used go.

<cache>/.pictures/<2 of the digest>/<digest>-<form>
<cache>/.pictures/total                 bytes of all forms, or more
<cache>/.pictures/lock                  held by who adds or drops a form
"""

# ruff: noqa: PTH108 - the paths are texts
from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from snapshots.locks import FileLock
from snapshots.store.durable import make_directory, sync_file

DIRECTORY: Final = ".pictures"
"""No workspace has this ID."""
LOCK_SECONDS: Final = 10.0
USED_AGAIN_SECONDS: Final = 600
"""Seconds after which a use is noted again."""
_FREED: Final = 0.1
"""The share of the bound that is freed at once, since that takes a look at every form."""
_TEMPORARY: Final = ".tmp"


class FormCache:
    """Keeps forms of pictures for all processes of a machine. Where the disk refuses, nothing is kept."""

    def __init__(self, cache: Path, most_bytes: int) -> None:
        self.directory = cache / DIRECTORY
        self._most = most_bytes

    def opened(self, digest: str, form: str) -> int | None:
        """Return the descriptor of a form's file, for the caller to close; ``None`` for a form that is not kept."""
        try:
            descriptor = os.open(self._path(digest, form), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        now, status = time.time(), os.fstat(descriptor)
        if now - status.st_atime > USED_AGAIN_SECONDS:
            with suppress(OSError):
                os.utime(descriptor, (now, status.st_mtime))
        return descriptor

    def keep(self, digest: str, form: str, data: bytes) -> None:
        """Keep a form, if it may be kept, and drop others for it."""
        if len(data) > self._most:
            return
        with suppress(OSError):
            make_directory(self.directory)
            lock = FileLock(self.directory / "lock")
            if not lock.take(LOCK_SECONDS):
                return
            try:
                self._add(self._path(digest, form), data)
            finally:
                lock.leave()

    def _path(self, digest: str, form: str) -> Path:
        return self.directory / digest[:2] / f"{digest}-{form}"

    def _add(self, path: Path, data: bytes) -> None:
        if path.exists():
            return
        total = self._total()
        if total is None or total + len(data) > self._most:
            total = self._with_room(len(data))
        # Before the form is there, so that what a killed process leaves is counted too much and not too little.
        (self.directory / "total").write_text(str(total + len(data)))
        make_directory(path.parent)
        temporary = path.with_name(path.name + _TEMPORARY)
        try:
            with temporary.open("wb") as opened:
                opened.write(data)
                opened.flush()
                sync_file(opened.fileno())
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise

    def _total(self) -> int | None:
        try:
            return int((self.directory / "total").read_text())
        except (OSError, ValueError):
            return None

    def _with_room(self, wanted: int) -> int:
        """Drop the least recently used forms where there is no room; return the bytes of those that stay."""
        found: list[tuple[float, int, str]] = []
        for folder in self.directory.iterdir():
            if not folder.is_dir():
                continue
            for entry in os.scandir(folder):
                status = entry.stat()
                if entry.name.endswith(_TEMPORARY):  # of a process that was killed
                    os.unlink(entry.path)
                else:
                    found.append((max(status.st_atime, status.st_mtime), status.st_size, entry.path))
        total = sum(size for _, size, _ in found)
        if total + wanted <= self._most:
            return total
        least = self._most * (1 - _FREED) - wanted
        for _, size, path in sorted(found):
            if total <= least:
                break
            os.unlink(path)
            total -= size
        return total

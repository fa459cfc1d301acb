"""Locks between the processes of a machine: a file that one holder at a time has locked.

The system frees the file when its holder ends, however that ends.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import Final

from snapshots.ownership import follow_directory

_LOOK_SECONDS: Final = 0.01
"""Seconds after which whoever waits for a lock tries it again."""


class FileLock:
    """One holder's part in the lock at a path. The file is made when it is first locked, and stays."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    @property
    def is_held(self) -> bool:
        """Whether this holder has the lock."""
        return self._descriptor is not None

    def take(self, seconds: float = 0.0) -> bool:
        """Take the lock, and wait up to ``seconds`` for it; return whether this holder has it now.

        Raises ``OSError`` when the file cannot be opened for writing.
        """
        deadline = time.monotonic() + seconds
        while not self.is_held:
            self._descriptor = self._tried(fcntl.LOCK_EX)
            if not self.is_held and time.monotonic() >= deadline:
                return False
            if not self.is_held:
                time.sleep(_LOOK_SECONDS)
        return True

    def leave(self) -> None:
        """Let another holder take the lock."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def is_lost(self) -> bool:
        """Return whether the file that this holder has locked was deleted: another holder may lock a new one then.

        Raises ``OSError``.
        """
        return self._descriptor is not None and not os.fstat(self._descriptor).st_nlink

    def is_free(self) -> bool:
        """Return whether nobody has the lock; whoever asks at the same time hears the same. Raises ``OSError``."""
        if not self._path.exists():
            return True
        found = self._tried(fcntl.LOCK_SH)
        if found is not None:
            os.close(found)
        return found is not None

    def _tried(self, how: int) -> int | None:
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            follow_directory(descriptor, self._path.parent)
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_nlink:  # else it was deleted meanwhile, and locks nothing
                return descriptor
        except BlockingIOError:
            pass
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        return None

"""One opened version of a workspace, shared by the requests that read it."""

from __future__ import annotations

import threading
from itertools import count
from zoneinfo import ZoneInfo

from engine.read.reader.reader import Reader

_numbers = count()


class OpenSnapshot:
    """One opened version, which takes precedence the requests that use it and is closed after the last of them.

    A request keeps the version it began with, whichever version becomes current meanwhile.
    """

    def __init__(self, reader: Reader, zone: ZoneInfo, since: int) -> None:
        self.reader = reader
        self.number = next(_numbers)
        """No other snapshot opened in this process has the number, be it of the same version."""
        self.zone = zone
        """The workspace's time zone, in which keys are valid by whole days."""
        self.since = since
        """When this process began to serve the version, in UTC milliseconds."""
        self._lock = threading.Lock()
        self._users = 1  # the slot that serves it

    def __enter__(self) -> OpenSnapshot:
        """Return a snapshot that is leased already, whose lease ends with the block."""
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def acquire(self) -> bool:
        """Begin to use the snapshot; ``False`` when it is closed already, and a newer one is in its place."""
        with self._lock:
            if self._users == 0:
                return False
            self._users += 1
            return True

    def release(self) -> None:
        """End one use. The end of the last one closes the reader."""
        with self._lock:
            self._users -= 1
            last = self._users == 0
        if last:
            self.reader.close()

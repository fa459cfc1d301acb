"""The writing of a file in the cache that is read as arrays: what bodies files and search files have in common."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self

ALIGNMENT: Final = 64
"""Arrays begin at multiples of so many bytes: NumPy reads those that begin at any byte slowly."""


class CacheFileWriter:
    """Writes a new file that begins with a token. Complete, and on the disk, once the ``with`` block ends without an
    error."""

    def __init__(self, place: Path, token: bytes) -> None:
        self._place = place
        self._file: BinaryIO = place.open("xb")
        self._file.write(token)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._finish()
            self.settle()
        self._file.close()

    def _finish(self) -> None:
        """Write what the file ends with."""

    def settle(self) -> None:
        """Have on the disk what is written so far, so that little is left to wait for at the end. Another thread may
        go on writing meanwhile."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def _aligned(self) -> int:
        """Where the next array begins."""
        self._file.write(bytes(-self._file.tell() % ALIGNMENT))
        return self._file.tell()

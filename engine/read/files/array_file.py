"""A file of arrays in the cache: written once, then mapped by all processes, which share the system's cache of it.

token (16 bytes) · arrays · directory of the arrays, as JSON · length and CRC-32 of the directory
"""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from pathlib import Path
from struct import Struct, calcsize
from types import TracebackType
from typing import Any, BinaryIO, Final, Self, TypeAlias
from zlib import crc32

import msgspec
import numpy as np

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

ALIGNMENT: Final = 64
"""Arrays begin at multiples of so many bytes: NumPy reads those that begin at any byte slowly."""
_END: Final = Struct("<QI")
"""The length and the CRC-32 of the directory."""

Stored: TypeAlias = tuple[str, int, int]
"""An array in the file: the format of its items as ``struct`` and NumPy have it, its first byte, and how many items."""


class _Directory(msgspec.Struct, frozen=True):
    """The directory at the end of the file."""

    size: int
    """Bytes of the file before the directory."""
    arrays: dict[str, Stored]


# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decode: Final = msgspec.json.Decoder(_Directory).decode


class ArrayFileWriter:
    """Writes a new file that begins with a token. Complete, and on the disk, once the ``with`` block ends without an
    error."""

    def __init__(self, path: Path, token: bytes) -> None:
        self._path = path
        self._arrays: dict[str, Stored] = {}
        self._file: BinaryIO = path.open("xb")
        self._file.write(token)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            directory = msgspec.json.encode(_Directory(self._file.tell(), self._arrays))
            self._file.write(directory)
            self._file.write(_END.pack(len(directory), crc32(directory)))
            self.settle()
        self._file.close()

    def settle(self) -> None:
        """Flush the arrays written so far to the disk, so that closing takes less time. Another thread may go on
        writing meanwhile."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def append(self, name: str, values: Array) -> Stored:
        """Write an array of one dimension under a name. Returns where it is."""
        first = self._aligned()
        self._file.write(values.data)
        stored = self._arrays[name] = (values.dtype.char, first, len(values))
        return stored

    def _aligned(self) -> int:
        """Write zeros up to the next multiple of ``ALIGNMENT``, and return that position."""
        self._file.write(bytes(-self._file.tell() % ALIGNMENT))
        return self._file.tell()


class ArrayFile:
    """The file, opened. Any number of threads may read at the same time."""

    def __init__(self, path: Path, token: bytes) -> None:
        """``token`` is what the file must begin with. Raises ``ValueError`` for another or a damaged file, and
        ``OSError``."""
        with path.open("rb") as file:
            if file.read(len(token)) != token:
                raise ValueError(f"{path.name} does not belong to it")
            self.map: Final = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            end = max(len(self.map) - _END.size, 0)
            length, check = _END.unpack(self.map[end:].rjust(_END.size))
            told = self.map[max(end - length, 0) : end]
            if crc32(told) != check or (directory := _decode(told)).size != end - length:
                raise ValueError(f"{path.name} is cut off or damaged")
        except BaseException:
            self.map.close()
            raise
        self.stored: Final = directory.arrays
        """The place of each array by its name."""

    def numbers(self, name: str) -> memoryview[int]:
        """The array of integers with this name. Raises ``KeyError``."""
        kind, first, count = self.stored[name]
        view = memoryview(self.map)[first : first + count * calcsize(kind)]
        return view.cast(kind)  # type: ignore[call-overload, no-any-return]  # a format read from the file is no literal

    def array(self, name: str) -> Array:
        """The array with this name, for NumPy. Raises ``KeyError``."""
        kind, first, count = self.stored[name]
        return np.frombuffer(self.map, kind, count, first)

    def close(self) -> None:
        """Close the file, where nothing holds an array of it; else it closes with the last that does."""
        with suppress(BufferError):
            self.map.close()

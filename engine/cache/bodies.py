"""The bodies of a materialised snapshot: entries as JSON in one file, read by their rows' positions (design section 4).

Beside the DuckDB file that decides which rows an answer has, because fetching them from there reads whole blocks of
neighbours: measured at a million rows of 2 KB, 300 bodies took 190 ms from DuckDB and 1 ms from here. The file is
mapped, so that all processes share the operating system's cache, and memory stays the system's to bound.

    token (16 bytes) · for each API: its bodies in the order of its table, then where each begins, as 64-bit integers ·
    for each API: the arrays that ``engine.cache.row_arrays`` and ``engine.cache.value_arrays`` have the names of
"""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from struct import calcsize
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from engine.cache.array_file import CacheFileWriter

if TYPE_CHECKING:
    import numpy as np

TOKEN_BYTES: Final = 16
"""What the file begins with: chosen anew for every file, and written into the DuckDB file that belongs to it."""
_NUMBER_BYTES: Final = 8

Stored: TypeAlias = tuple[str, int, int]
"""An array in the file: the format of its items as ``struct`` has it, where it begins, and how many there are."""


class BodiesWriter(CacheFileWriter):
    """Writes a bodies file, API by API."""

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._file.tell()

    def append(self, batches: Iterable[tuple[memoryview, np.ndarray[Any, np.dtype[Any]]]]) -> tuple[int, int]:
        """Write an API's bodies, some at a time: their bytes, and where each ends in these. Returns where their offsets
        begin in the file, and how many bodies there are."""
        first, rows = self._file.tell(), 0
        offsets = [first.to_bytes(_NUMBER_BYTES, sys.byteorder)]
        end = first
        for content, ends in batches:
            self._file.write(content)
            offsets.append((ends + end).tobytes())
            end += len(content)
            rows += len(ends)
        self._file.writelines(offsets)
        return end, rows

    def append_array(self, values: np.ndarray[Any, np.dtype[Any]]) -> Stored:
        """Write an array of one dimension. Returns where it is."""
        first = self._aligned()
        self._file.write(values.data)
        return values.dtype.char, first, len(values)


class Bodies:
    """A bodies file, opened. Any number of threads may read at the same time."""

    def __init__(
        self,
        place: Path,
        token: bytes,
        size: int,
        indexes: Mapping[str, tuple[int, int]],
        arrays: Mapping[tuple[str, str], Stored],
    ) -> None:
        """``token`` and ``size`` (bytes) are what the file must have, ``indexes`` what ``BodiesWriter.append``
        returned, by the ``uid`` of the API, and ``arrays`` what the other methods did, by ``uid`` and name.
        Raises ``ValueError`` for another file, and ``OSError``."""
        with place.open("rb") as file:
            if (file.read(TOKEN_BYTES), os.fstat(file.fileno()).st_size) != (token, size):
                raise ValueError(f"{place.name} does not belong to it")
            self._map: Final = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._map.madvise(mmap.MADV_RANDOM)
        self._view: Final = memoryview(self._map)
        self._offsets: Final = {
            uid: self._view[first : first + (rows + 1) * _NUMBER_BYTES].cast("q")
            for uid, (first, rows) in indexes.items()
        }
        self._arrays: Final = {
            key: self._view[first : first + count * calcsize(kind)].cast(kind)  # type: ignore[call-overload]  # any format
            for key, (kind, first, count) in arrays.items()
        }

    def of(self, uid: str) -> Callable[[int], bytes]:
        """The function from a row's position in the API's table to its body."""
        offsets, data = self._offsets[uid], self._map
        return lambda row: data[offsets[row] : offsets[row + 1]]

    def mean_size(self, uid: str) -> float:
        """Bytes of one of an API's bodies, on average."""
        offsets = self._offsets[uid]
        return (offsets[-1] - offsets[0]) / max(1, len(offsets) - 1)

    def numbers(self, uid: str, name: str) -> memoryview[int]:
        """The integers of an API with this name. Raises ``KeyError``."""
        numbers: memoryview[int] = self._arrays[uid, name]
        return numbers

    def array(self, uid: str, name: str) -> memoryview[Any] | None:
        """The array of an API with this name, whatever its items; ``None`` where there is none."""
        return self._arrays.get((uid, name))

    @property
    def token(self) -> bytes:
        """What the file begins with."""
        return self._map[:TOKEN_BYTES]

    def close(self) -> None:
        """Nothing may be read any more."""
        for numbers in (*self._offsets.values(), *self._arrays.values()):
            numbers.release()
        self._view.release()
        self._map.close()

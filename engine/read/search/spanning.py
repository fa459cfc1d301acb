"""One array over what several mapped files have, wherever they lie in memory: one call of NumPy reads from all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

WORD: Final = 8
"""Bytes of an item."""


class Spanning:
    """The memory from the first of some arrays to the last, as numbers of 64 bits.

    Between the arrays is memory that nobody may touch, so that only items that are known to be of one of them may be
    read. The arrays stay where they are as long as this object, or an array made of it, is there.
    """

    def __init__(self, arrays: Sequence[Array]) -> None:
        """``arrays`` begin at multiples of ``WORD`` bytes."""
        addresses = [array.ctypes.data for array in arrays]
        self._first = min(addresses)
        end = max(address + array.nbytes for address, array in zip(addresses, arrays, strict=True))
        self.items: Final[Array] = np.asarray(_Memory(arrays, self._first, -(-(end - self._first) // WORD)))

    def position(self, array: Array) -> int:
        """Return the item that one of the arrays begins with."""
        return (array.ctypes.data - self._first) // WORD


class _Memory:
    """Memory that NumPy may make an array of."""

    def __init__(self, kept: Sequence[Array], address: int, items: int) -> None:
        self._kept = kept
        self.__array_interface__ = {"version": 3, "data": (address, True), "shape": (items,), "typestr": "<u8"}

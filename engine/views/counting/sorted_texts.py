"""Many texts, sorted, in the two buffers of an Arrow array: found by bisection, without a Python object for each."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

_STEP: Final = 8
"""Texts from one Python object to the next: most of a search then runs in C, for little memory."""


class SortedTexts:
    """Distinct texts sorted by code points, which is the order of their UTF-8 bytes."""

    def __init__(self, texts: pa.StringArray) -> None:
        """``texts`` are sorted, distinct and without nulls."""
        _, offsets, data = texts.buffers()
        self.array: Final = texts
        self._first: int = texts.offset
        self._offsets = memoryview(offsets).cast("i") if offsets is not None else memoryview(bytes(4)).cast("i")
        self._data = memoryview(data) if data is not None else memoryview(b"")
        self._some: list[str] = texts.take(np.arange(0, len(texts), _STEP)).to_pylist()

    def __len__(self) -> int:
        return len(self.array)

    def find(self, text: str) -> int | None:
        """The place of a text; ``None`` for an unknown one."""
        block = bisect_right(self._some, text)
        if not block:
            return None
        wanted = text.encode()
        offsets, data, first = self._offsets, self._data, self._first
        low = (block - 1) * _STEP + first
        high = min(low + _STEP, len(self.array) + first)
        while low < high:
            middle = (low + high) // 2
            found = data[offsets[middle] : offsets[middle + 1]].tobytes()
            if found == wanted:
                return middle - first
            if found < wanted:
                low = middle + 1
            else:
                high = middle
        return None

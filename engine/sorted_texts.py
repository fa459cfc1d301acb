"""Many texts, sorted, in the two buffers of an Arrow array: found by bisection, without a Python object for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow as pa


class SortedTexts:
    """Distinct texts sorted by code points, which is the order of their UTF-8 bytes."""

    def __init__(self, texts: pa.StringArray) -> None:
        """``texts`` are sorted, distinct and without nulls."""
        _, offsets, data = texts.buffers()
        self.array: Final = texts
        self._first = texts.offset
        self._offsets = memoryview(offsets).cast("i") if offsets is not None else memoryview(bytes(4)).cast("i")
        self._data = memoryview(data) if data is not None else memoryview(b"")

    def __len__(self) -> int:
        return len(self.array)

    def find(self, text: str) -> int | None:
        """The place of a text, ``None`` where it is not among them."""
        wanted = text.encode()
        offsets, data, first = self._offsets, self._data, self._first
        low, high = 0, len(self.array)
        while low < high:
            middle = (low + high) // 2
            place = first + middle
            found = data[offsets[place] : offsets[place + 1]].tobytes()
            if found < wanted:
                low = middle + 1
            elif found == wanted:
                return middle
            else:
                high = middle
        return None

"""How often a byte is in data, some times faster than ``bytes.count``, which goes byte by byte."""

from __future__ import annotations

from typing import Final

import numpy as np

_BLOCK: Final = 1 << 16
"""What is noted of so many bytes stays in the processor's cache."""
_FEW: Final = 1 << 14


def count_byte(data: bytes | bytearray, byte: bytes, first: int, end: int) -> int:
    """How many of the bytes of ``data`` from ``first`` to ``end`` are ``byte``."""
    if end - first < _FEW:
        return data.count(byte, first, end)
    every = np.frombuffer(data, np.uint8)[first:end]
    blocks = (every[at : at + _BLOCK] for at in range(0, len(every), _BLOCK))
    return sum(int(np.count_nonzero(block == byte[0])) for block in blocks)

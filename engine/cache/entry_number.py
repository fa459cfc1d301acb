"""The number by which an entry is found and referred to, in whatever language, file and version.

It follows from the entry's ID alone, so that no file has to know of another: 128 bits of a SHA-256, of which no two
alike can be found.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

BYTES: Final = 16
HALF_BITS: Final = 64
"""Bits of either half of a number: arrays hold the upper and the lower one apart."""


def number_bytes(entry_id: str) -> bytes:
    """Return the number of the entry with an ID, its most significant byte first."""
    return sha256(entry_id.encode()).digest()[:BYTES]


def entry_number(entry_id: str) -> int:
    """Return the number of the entry with an ID."""
    return int.from_bytes(number_bytes(entry_id), "big")

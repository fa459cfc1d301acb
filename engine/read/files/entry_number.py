"""The number by which an entry is referred to, in whatever language, file and version.

It follows from the entry's ID alone, so that no file has to know of another: 64 bits of a SHA-256. No part of the cache
is made in which two IDs have the same (one pair in 10^19 has), and what a request names by its ID is held against that.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

NUMBER_BITS: Final = 64

UNNAMED: Final = ""
"""Stands for the endpoint where a reference to one of several APIs names none."""


def number_bytes(entry_id: str) -> bytes:
    """Return the number of the entry with an ID, its most significant byte first."""
    return sha256(entry_id.encode()).digest()[: NUMBER_BITS // 8]


def entry_number(entry_id: str) -> int:
    """Return the number of the entry with an ID."""
    return int.from_bytes(number_bytes(entry_id), "big")

"""Divide an API's entries into segments: the leaves of a trie over a digest of their IDs.

A leaf is split in two when it holds more entries than a limit, so the division follows from the set of IDs alone, and
one more entry splits one leaf at most. A segment is named by the bits that the numbers of its entries begin with.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any, Final, TypeAlias

import numpy as np

from snapshots.columns import ALL

Ints: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

NUMBER_BITS: Final = 64
_MOST_SHARED: Final = 32


def number_bytes(entry_id: str) -> bytes:
    """Return the number of the entry with an ID, its most significant byte first: 64 bits of a SHA-256."""
    return sha256(entry_id.encode()).digest()[: NUMBER_BITS // 8]


def entry_number(entry_id: str) -> int:
    """Return the number of the entry with an ID."""
    return int.from_bytes(number_bytes(entry_id), "big")


def entry_numbers(ids: Iterable[str]) -> Ints:
    """Return the numbers of the entries with these IDs, as uint64."""
    return np.frombuffer(b"".join(map(number_bytes, ids)), ">u8").astype(np.uint64)


def entry_digests(ids: Iterable[str]) -> tuple[Ints, Ints]:
    """Return the numbers of the entries with these IDs, and the next 64 bits of the same digests, as uint64."""
    digests = b"".join(sha256(one.encode()).digest()[: 2 * NUMBER_BITS // 8] for one in ids)
    both = np.frombuffer(digests, ">u8").astype(np.uint64).reshape(-1, 2)
    return both[:, 0].copy(), both[:, 1].copy()


def shared_bits(segment: str) -> int:
    """Return how many bits, or more, the numbers of a segment's entries have in common at their beginning; none for a
    file of before there were segments."""
    return 0 if segment == ALL else min(len(segment), _MOST_SHARED)


def numbers_of(segment: str) -> tuple[int, int]:
    """Return the least and the greatest number that an entry of a segment can have."""
    bits = "" if segment == ALL else segment
    return int(bits.ljust(NUMBER_BITS, "0"), 2), int(bits.ljust(NUMBER_BITS, "1"), 2)


class Division:
    """The segments of an API, by their names, which ascend as the numbers of their entries do."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names: Final = tuple(names)
        self._starts: Final = [numbers_of(name)[0] for name in names]
        self._seconds: Final = self._starts[1:]
        self._lasts: Final = [numbers_of(name)[1] for name in names]

    def of_number(self, number: int) -> int | None:
        """Return the position of the segment that an entry with this number is in, ``None`` where there is none."""
        at = bisect_right(self._starts, number) - 1
        return at if at >= 0 and number <= self._lasts[at] else None

    def nearest(self, number: int) -> int:
        """Return the position of the one segment that an entry with this number can be in, of one at least: where there
        is no such segment, of another."""
        return bisect_right(self._seconds, number)

    def of_numbers(self, numbers: Ints) -> Ints:
        """Return the position of the segment of each entry, all of which are in one."""
        found: Ints = np.searchsorted(np.array(self._starts, np.uint64), numbers, side="right") - 1
        return found


def divided(numbers: Ints, limit: int) -> Division:
    """Return the division of the entries with these numbers, as uint64, into segments of ``limit`` entries at most.
    Segments without entries are left out."""
    return Division(list(_leaves(np.sort(numbers), "", limit)))


def _leaves(ascending: Ints, bits: str, limit: int) -> Iterator[str]:
    if not len(ascending):
        return
    if len(ascending) <= limit or len(bits) == NUMBER_BITS:
        yield bits or ALL
        return
    middle = np.uint64(int(f"{bits}1".ljust(NUMBER_BITS, "0"), 2))
    at = int(np.searchsorted(ascending, middle))
    yield from _leaves(ascending[:at], f"{bits}0", limit)
    yield from _leaves(ascending[at:], f"{bits}1", limit)


def paired(old: Sequence[str], new: Sequence[str]) -> list[tuple[list[int], list[int]]]:
    """Pair the segments of two divisions: the positions of those, in the one and in the other, that together have the
    same numbers. Segments that were not split are paired one to one."""
    named = [
        (("" if name == ALL else name), side, at)
        for side, names in enumerate((old, new))
        for at, name in enumerate(names)
    ]
    pairs: list[tuple[list[int], list[int]]] = []
    root: str | None = None
    for bits, side, at in sorted(named):
        if root is None or not bits.startswith(root):
            root = bits
            pairs.append(([], []))
        pairs[-1][side].append(at)
    return pairs

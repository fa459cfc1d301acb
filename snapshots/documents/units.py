"""Cut a large JSONL file into units of whole lines, of which a build compiles only those whose bytes changed.

Where a unit ends is decided by the bytes of its last line, so that the units after a change are those of before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias
from zlib import crc32

import msgspec
import numpy as np
from blake3 import blake3

Ints: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

UNIT_BYTES: Final = 512 << 10
"""Bytes of a unit at least."""
MOST_BYTES: Final = 4 << 20
"""Bytes at which a unit ends with the line that it is in."""
MORE_BYTES: Final = 256 << 10
"""Bytes from ``UNIT_BYTES`` on until a line ends the unit, on average."""


class Unit(msgspec.Struct, frozen=True):
    """Some lines of a file."""

    start: int
    end: int
    """The range of bytes."""
    first: int
    """The number of lines before."""
    digest: bytes


class CutFile(msgspec.Struct, frozen=True):
    """A file as it was when it was cut."""

    units: list[Unit]
    digest: str
    """Of the whole content."""


def cut_file(path: Path) -> CutFile:
    """Cut a file into units. Raises ``OSError``."""
    units: list[Unit] = []
    whole = blake3()
    start = lines = 0
    with path.open("rb") as file:
        while data := _next(file.read(UNIT_BYTES) + file.readline(), file.readline):
            whole.update(data)
            units.append(Unit(start, start + len(data), lines, unit_digest(data)))
            start += len(data)
            lines += data.count(b"\n")
    return CutFile(units, whole.hexdigest(16))


def _next(begin: bytes, line: Callable[[], bytes]) -> bytes:
    """Return the bytes of a unit that begins with ``begin``; ``line`` reads a line."""
    parts, size = [begin], len(begin)
    if size < UNIT_BYTES:
        return begin
    while size < MOST_BYTES and (found := line()):
        parts.append(found)
        size += len(found)
        if crc32(found) * MORE_BYTES < len(found) << 32:
            break
    return b"".join(parts)


def unit_digest(data: bytes) -> bytes:
    """Return the digest of a unit's bytes."""
    return blake3(data).digest(16)


class KeptUnits(msgspec.Struct, frozen=True):
    """The units of a file that are as they were in the last build."""

    before: dict[int, int]
    """Their positions in the last build, by their positions now."""
    _old_firsts: list[int]
    _new_firsts: list[int]

    def moved_lines(self, lines: Ints) -> Ints:
        """Return the present number of each of the file's lines, given as it was; -1 for one that is not kept."""
        firsts = np.array(self._old_firsts)
        units = np.searchsorted(firsts, lines - 1, side="right") - 1
        now = np.full(len(firsts), -1)
        shift = np.zeros(len(firsts), np.int64)
        for at, old in self.before.items():
            now[old] = at
            shift[old] = self._new_firsts[at] - self._old_firsts[old]
        moved: Ints = np.where(now[units] < 0, -1, lines + shift[units])
        return moved


def kept_units(cut: CutFile, digests: Sequence[bytes | None], lines: Sequence[int]) -> KeptUnits:
    """Return the units of a file that have the bytes of units of the last build. These are given by their digests,
    ``None`` for one that is not usable, and their numbers of line ends."""
    known: dict[bytes, list[int]] = {}
    for at, digest in enumerate(digests):
        if digest is not None:
            known.setdefault(digest, []).append(at)
    found = {}
    for at, unit in enumerate(cut.units):
        if known.get(unit.digest):
            found[at] = known[unit.digest].pop(0)
    firsts = np.cumsum([0, *lines])[:-1].tolist()
    return KeptUnits(found, firsts, [unit.first for unit in cut.units])

"""Cut a large JSONL file into units of whole lines, of which a build compiles only those whose bytes changed.

Where a unit ends is decided by the bytes of its last line, so that the units after a change are those of before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final
from zlib import crc32

import msgspec
from blake3 import blake3

UNIT_BYTES: Final = 512 << 10
"""Bytes of a unit at least."""
MOST_BYTES: Final = 4 << 20
"""Bytes at which a unit ends with the line that it is in."""
MORE_BYTES: Final = 64 << 10
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


def cut_file(path: Path, known: Mapping[bytes, int]) -> CutFile:
    """Cut a file into units. ``known`` has the number of line ends of units, by their digest. Raises ``OSError``."""
    units: list[Unit] = []
    whole = blake3()
    start = lines = 0
    with path.open("rb") as file:
        while data := _next(file.read(UNIT_BYTES) + file.readline(), file.readline):
            whole.update(data)
            digest = unit_digest(data)
            units.append(Unit(start, start + len(data), lines, digest))
            start += len(data)
            lines += known[digest] if digest in known else data.count(b"\n")
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


def kept_units(cut: CutFile, digests: Sequence[bytes | None]) -> dict[int, int]:
    """Return the units of a file that have the bytes of units of the last build: their positions then, by those now.
    The units of the last build are given by their digests, ``None`` for one that is not usable."""
    known: dict[bytes, list[int]] = {}
    for at, digest in enumerate(digests):
        if digest is not None:
            known.setdefault(digest, []).append(at)
    return {at: known[unit.digest].pop(0) for at, unit in enumerate(cut.units) if known.get(unit.digest)}

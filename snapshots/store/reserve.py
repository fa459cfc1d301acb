"""The reserve of a store on a disk: room for taking rights away when the disk is full (decision 78).

    <root>/.reserve        zeros

It is there before the disk is full. A change that may use it makes the file shorter by what it needs, and the file
grows again where there is room. What is freed so might be taken by somebody else first, and so there is more of it
than any change needs.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from snapshots.ownership import follow_directory
from snapshots.store.durable import allocate

RESERVE: Final = ".reserve"
RESERVE_BYTES: Final = 1 << 20
_SHARE: Final = 16
"""The part of a small disk that the reserve takes at most."""
_STEP: Final = 1 << 14
"""Bytes by which the file grows, and beyond what a change writes gets shorter: files and names take room, too."""
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})

_Written = TypeVar("_Written")


def fill_reserve(root: Path) -> None:
    """Make the reserve of the store at ``root`` as large as it is meant to be, or as there is room for."""
    with suppress(OSError):
        path = root / RESERVE
        held = _held(path)
        if held >= RESERVE_BYTES:
            return
        system = os.statvfs(root)
        whole = min(RESERVE_BYTES, system.f_blocks * system.f_frsize // _SHARE)
        if held + _STEP > whole:
            return
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        follow_directory(descriptor, path.parent)
        try:
            while held + _STEP <= whole:
                allocate(descriptor, held, held + _STEP)
                held += _STEP
        finally:
            os.close(descriptor)


def write_with_reserve(root: Path, size: int, write: Callable[[], _Written]) -> _Written:
    """Write ``size`` bytes by ``write``, with room from the reserve of the store at ``root`` where the disk is full.

    ``write`` is called again after each time that it found no room, and must leave nothing behind then. Raises the
    ``OSError`` that ``write`` raised when the reserve is used up, or for another cause.
    """
    while True:
        try:
            return write()
        except OSError as error:
            if error.errno not in _FULL or not _release(root / RESERVE, size + _STEP):
                raise


def _held(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _release(path: Path, size: int) -> bool:
    """Give ``size`` bytes of the reserve back to the disk; return whether there were any left."""
    try:
        held = _held(path)
        if held:
            os.truncate(path, max(0, held - size))
    except OSError:
        return False
    return held > 0

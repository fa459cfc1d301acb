"""The parts that a process has open: one that several versions have is opened once, and closed with the last."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

from engine.read.files.opened_part import OpenedPart
from engine.read.files.parts import Part
from engine.read.files.paths import bodies_file

_open: Final[dict[tuple[Path, int], tuple[OpenedPart, int]]] = {}
"""By the part's directory and the inode of its bodies, which another process may have made again: the part, and how
many versions have it."""
_lock: Final = threading.Lock()


def opened_part(directory: Path, part: Part) -> OpenedPart:
    """Open a part, or share it with who has it open. Raises as ``OpenedPart``."""
    with _lock:
        name = (directory, bodies_file(directory).stat().st_ino)
        found, users = _open.get(name, (None, 0))
        if found is None or found.is_damaged:
            found, users = OpenedPart(directory, part), 0
        _open[name] = (found, users + 1)
        return found


def close_part(directory: Path, opened: OpenedPart) -> None:
    """Give a part back that ``opened_part`` returned; nothing may be read from it any more."""
    with _lock:
        name = (directory, opened.inode)
        found, users = _open.get(name, (None, 0))
        if found is not opened:  # it was damaged, and another has taken its place
            opened.close()
        elif users > 1:
            _open[name] = (opened, users - 1)
        else:
            del _open[name]
            opened.close()

"""Files that belong to whom their directory belongs, whoever makes them.

A store belongs to the user who serves it. What another user publishes into it follows that user: root gives files away,
and anybody else gives them the directory's group, where that is a group of their own.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def follow_directory(made: int | Path, directory: Path) -> None:
    """Give a file or directory that this process has just made the owner and the group of the ``directory`` it is in,
    as far as the system lets it."""
    with suppress(OSError):
        found, mine = directory.stat(), os.stat(made)  # noqa: PTH116 - of a descriptor, too
        is_root = os.geteuid() == 0
        owner = found.st_uid if is_root else mine.st_uid
        if (owner, found.st_gid) != (mine.st_uid, mine.st_gid):
            os.chown(made, owner if is_root else -1, found.st_gid)


def follow_all(directory: Path, root: Path) -> None:
    """Give all that root has made below ``directory`` the owner and the group of ``root``."""
    if os.geteuid() != 0 or not root.is_dir() or root.stat().st_uid == 0:
        return
    for parent, folders, names in os.walk(directory):
        for path in (Path(parent), *(Path(parent, name) for name in (*folders, *names))):
            with suppress(OSError):
                if path.lstat().st_uid == 0 and not path.is_symlink():
                    follow_directory(path, root)


def is_foreign(made: Path, root: Path) -> bool:
    """Return whether ``made`` has neither the owner nor the group of ``root``, and others may not read it: whoever
    serves the store may not be able to."""
    with suppress(OSError):
        found, mine = root.stat(), made.stat()
        return mine.st_uid != found.st_uid and mine.st_gid != found.st_gid and not mine.st_mode & 0o004
    return False


def owner_of(path: Path) -> str:
    """Return the name of the user to whom a file belongs, or the number of one without a name."""
    try:
        return path.owner()
    except KeyError:
        return str(path.stat().st_uid)

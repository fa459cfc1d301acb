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
    as far as the system lets it. A link that took its place meanwhile is not followed."""
    with suppress(OSError):
        found = directory.stat()
        mine = os.fstat(made) if isinstance(made, int) else made.lstat()
        is_root = os.geteuid() == 0
        if (found.st_uid if is_root else mine.st_uid, found.st_gid) == (mine.st_uid, mine.st_gid):
            return
        owner = found.st_uid if is_root else -1
        if isinstance(made, int):
            os.fchown(made, owner, found.st_gid)
        else:
            os.chown(made, owner, found.st_gid, follow_symlinks=False)


def follow_all(directory: Path, root: Path) -> None:
    """Give all that root has made below ``directory`` the owner and the group of ``root``. Whoever owns these may move
    them meanwhile: nothing outside is reached by that."""
    if os.geteuid() != 0 or not root.is_dir() or root.stat().st_uid == 0:
        return
    owner = root.stat()
    with suppress(OSError):
        for _, folders, names, descriptor in os.fwalk(directory, follow_symlinks=False):
            for name in (".", *folders, *names):
                with suppress(OSError):
                    if os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_uid == 0:
                        os.chown(name, owner.st_uid, owner.st_gid, dir_fd=descriptor, follow_symlinks=False)


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

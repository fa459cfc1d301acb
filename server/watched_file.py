"""Notice changes of files, by a signature that differs after every change."""

from __future__ import annotations

import os
from pathlib import Path

Signature = tuple[int, ...]
"""Inode, size, and the times of the last change to content and to mode or owner; empty where there is no file."""


def signature(path: Path) -> Signature:
    """Return the signature of a file as it is now; empty when the file is missing or cannot be looked at."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def tree_signature(directory: Path) -> tuple[tuple[str, Signature], ...]:
    """Return the signatures of all files below a directory, by path; empty when the directory is missing."""
    paths = (Path(parent, name) for parent, _, names in os.walk(directory) for name in names)
    return tuple(sorted((str(path), signature(path)) for path in paths))

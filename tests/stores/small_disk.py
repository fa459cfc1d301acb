"""A file system of its own with little room, to be filled to the last byte."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


@contextmanager
def small_disk(disk: Path, size: int) -> Iterator[Path]:
    """Mount a disk of ``size`` bytes at ``disk``; the test is skipped where that is not allowed."""
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a file system cannot be mounted here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(disk: Path) -> Path:
    """Write until not another byte fits. Returns the file to be removed for room."""
    filler = disk / "filler"
    with filler.open("ab", buffering=0) as file, suppress(OSError):
        while file.write(b"x" * os.sysconf("SC_PAGE_SIZE")):
            pass
    assert shutil.disk_usage(disk).free == 0
    return filler

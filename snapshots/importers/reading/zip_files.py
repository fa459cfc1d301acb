"""Extract ZIP archives that may do harm: only files, inside a folder, and not much more than the archive's size."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import Final

from snapshots.importers.losses import Unreadable
from snapshots.importers.reading.archive import LEAST_LIMIT, MAX_GROWTH, MAX_MEMBERS

MOST_NESTED: Final = 3
"""Archives that may be in each other, as those of large exports are."""
_CHUNK: Final = 1 << 20


def extracted(path: Path, work: Path) -> Path:
    """Return the folder of an export: ``path`` itself, or ``work`` with all files of the archive, and of those in it.

    Raises ``Unreadable`` for what is neither, and for a hostile archive; then ``work`` may hold some of it.
    """
    if path.is_dir():
        return path
    _Extraction(path).run(path, work, 0)
    return work


class _Extraction:
    def __init__(self, path: Path) -> None:
        self._name = path.name
        self._left = max(LEAST_LIMIT, MAX_GROWTH * path.stat().st_size)
        self._members = 0

    def run(self, path: Path, work: Path, depth: int) -> None:
        try:
            with zipfile.ZipFile(path) as archive:
                for member in archive.infolist():
                    self._one(archive, member, work)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
            raise Unreadable(f"{self._name}: the archive cannot be read: {error}. Export again.") from None
        for inner in sorted(work.rglob("*.zip")):
            if depth >= MOST_NESTED:
                raise Unreadable(f"{self._name}: archives in it are nested too deep. Extract it and name the folder.")
            moved = inner.with_name(f"{inner.name}.read")
            inner.rename(moved)
            self.run(moved, work, depth + 1)
            moved.unlink()

    def _one(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo, work: Path) -> None:
        inside = PurePosixPath(member.filename)
        self._members += 1
        if inside.is_absolute() or ".." in inside.parts or "\\" in member.filename or "\0" in member.filename:
            shown = member.filename[:100]
            raise Unreadable(f"{self._name}: the member {shown!r} leads out of the archive, so it is not trusted.")
        if self._members > MAX_MEMBERS:
            raise Unreadable(f"{self._name}: more than {MAX_MEMBERS:,} members. Extract it and name the folder.")
        if member.is_dir():
            return
        target = work / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(member) as source, target.open("wb") as copy:
            while data := source.read(_CHUNK):
                self._left -= len(data)
                if self._left < 0:
                    raise Unreadable(
                        f"{self._name}: the archive holds far more than its own size. If that is right, extract it and "
                        "name the folder."
                    )
                copy.write(data)

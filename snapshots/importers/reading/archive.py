"""Unpack the wanted files of an export, an archive or a folder, into a folder.

An archive comes from elsewhere, so nothing in it is trusted: names that lead out of it, links, devices, and content
that grows far beyond the archive itself are refused.
"""

from __future__ import annotations

import gzip
import lzma
import shutil
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from snapshots.importers.losses import Unreadable

LEAST_LIMIT = 1 << 30
"""Bytes that any archive may hold."""
MAX_GROWTH = 200
"""Bytes that an archive may hold for each byte of its own, above ``LEAST_LIMIT``: text shrinks to a twentieth."""
MAX_MEMBERS = 2_000_000
MAX_READ = 1 << 26
"""Bytes that are read at once: the headers of an archive say how long they are."""

_GZIP = b"\x1f\x8b"
_CHUNK = 1 << 20


class _Bounded:
    """A stream of an archive that ends with an error where it grows beyond ``limit`` bytes."""

    def __init__(self, inner: BinaryIO, limit: int, name: str) -> None:
        self._inner, self._limit, self._name = inner, limit, name

    def read(self, size: int = -1) -> bytes:
        if size > MAX_READ or size < 0:
            raise Unreadable(
                f"{self._name}: a header of the archive claims to have {size:,} bytes: it is not an export."
            )
        data = self._inner.read(size)
        self._check(self._inner.tell())
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        self._check(offset)
        return self._inner.seek(offset, whence)

    def tell(self) -> int:
        return self._inner.tell()

    def _check(self, offset: int) -> None:
        if offset > self._limit:
            raise Unreadable(
                f"{self._name}: the archive holds more than {self._limit:,} bytes, which is far beyond its own size. "
                "If that is right, extract it and name the folder."
            )


def opened(path: Path, work: Path, wanted: Callable[[str], bool]) -> Path:
    """Return the folder of an export: ``path`` itself, or ``work`` with the ``wanted`` members of the archive there.

    Raises ``Unreadable`` for what is neither, and for a hostile archive; then ``work`` may hold some of it.
    """
    if path.is_dir():
        return path
    try:
        with path.open("rb") as file:
            head = file.read(2)
            file.seek(0)
            packed = head == _GZIP
            inner = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if packed else file
            bounded = _Bounded(inner, max(LEAST_LIMIT, MAX_GROWTH * path.stat().st_size), path.name)
            with tarfile.open(fileobj=cast(BinaryIO, bounded), mode="r:") as archive:
                _extract(archive, path.name, work, wanted)
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, EOFError, ValueError) as error:
        raise Unreadable(f"{path.name}: the archive cannot be read: {error}. Export again.") from None
    return work


def _extract(archive: tarfile.TarFile, name: str, work: Path, wanted: Callable[[str], bool]) -> None:
    for number, member in enumerate(archive):
        inside = PurePosixPath(member.name)
        shown = member.name[:100]
        if inside.is_absolute() or ".." in inside.parts or "\0" in member.name or "\\" in member.name:
            raise Unreadable(f"{name}: the member {shown!r} leads out of the archive, so it is not trusted.")
        if number >= MAX_MEMBERS:
            raise Unreadable(f"{name}: more than {MAX_MEMBERS:,} members. Extract it and name the folder.")
        if member.isdir():
            continue
        if not member.isreg():
            raise Unreadable(f"{name}: the member {shown!r} is a link or a device, which no export has.")
        source = archive.extractfile(member)
        if source is None or not wanted(inside.as_posix()):
            continue
        target = work / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as copy:
            shutil.copyfileobj(source, copy, _CHUNK)

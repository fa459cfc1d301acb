"""Data files for `cms dev`: what a save changed is appended to the file of the version before.

A file of `cms dev` is Parquet as any other, in many small row groups whose borders are where rows with certain digests
are, so that they stay where they are around a change. The next version's file begins with the same bytes, which the
system copies; its own new row groups follow, and its footer names the row groups in the order of their rows. Those that
no row is in any more stay as dead bytes until they are most of the file. Compressed and hashed is only what changed.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec.structs import replace

from snapshots.build.parquet import FilePlan, RowSource, parquet_writer, row_groups
from snapshots.columns import Column
from snapshots.problems import ParquetryError
from snapshots.store.manifest import DataFile
from snapshots.store.verification import altered

FEWEST_ROWS = 128
MOST_GROUPS = 256
"""Row groups have ``FEWEST_ROWS`` rows on average, or more, so that there are hardly more groups than this."""
MAGIC = b"PAR1"
_DIGEST = 16


class _RowGroup(msgspec.Struct, frozen=True):
    """A row group in a file, as the footer of a file with nothing else in it tells of it."""

    footer: pq.FileMetaData
    bytes: int


class _Written(msgspec.Struct, frozen=True):
    """A file of the last version."""

    place: Path
    columns: tuple[Column, ...]
    size: int
    digest: str
    end: int
    """Where its footer begins."""
    before_end: hashlib._Hash
    """SHA-256 as far as that."""
    groups: dict[bytes, _RowGroup]
    """By a digest of their rows, those that are in use."""


class QuickFiles:
    """What a session remembers of the files it wrote. It is one session's: nothing of this is on the disk."""

    def __init__(self) -> None:
        self._written: dict[str, _Written] = {}
        self._sound: dict[tuple[int, int], tuple[int, int, str]] = {}

    def write(
        self,
        name: str,
        plan: FilePlan,
        chunks: Sequence[Path],
        place: Path,
        published: Path,
        progress: Callable[[int], None],
    ) -> tuple[int, str]:
        """Write the rows of ``plan`` to ``place``; ``published`` is where the file will be. Returns bytes and SHA-256.

        ``name`` is the same for the file in every version. ``progress`` hears of the rows done. Raises ``OSError``,
        and what reading ``chunks`` raises.
        """
        wanted = list(_groups(plan))
        known = self._begin(name, plan, {key for key, _, _ in wanted}, place)
        hashed = known.before_end.copy() if known is not None else hashlib.sha256(MAGIC)
        groups: dict[bytes, _RowGroup] = {}
        with RowSource(plan, chunks) as rows, place.open("rb") as written:
            with pa.OSFile(str(place), "ab") as file:
                for key, first, last in wanted:
                    if known is not None and key in known.groups:
                        groups[key] = known.groups[key]
                    else:
                        groups[key] = _append(rows.table(first, last), plan.columns, file)
                        progress(last)
            written.seek(known.end if known is not None else len(MAGIC))
            while data := written.read(1 << 20):
                hashed.update(data)
            end = written.tell()
            footer = _footer(plan.columns, [groups[key].footer for key, _, _ in wanted])
            with place.open("ab") as last_part:
                last_part.write(footer)
            found = os.fstat(written.fileno())
        whole = hashed.copy()
        whole.update(footer)
        digest = whole.hexdigest()
        self._written[name] = _Written(published, plan.columns, found.st_size, digest, end, hashed, groups)
        self._sound[found.st_dev, found.st_ino] = (found.st_size, found.st_mtime_ns, digest)
        return found.st_size, digest

    def is_sound(self, place: Path, file: DataFile) -> bool:
        """Whether a file is what the manifest says. A published file, which nobody changes, is read for it but once."""
        try:
            found = place.stat()
        except OSError:
            return False
        key, seen = (found.st_dev, found.st_ino), (found.st_size, found.st_mtime_ns, file.sha256)
        if self._sound.get(key) == seen:
            return True
        if altered(place, file) is not None:
            return False
        self._sound[key] = seen
        return True

    def linked(self, name: str, digest: str, published: Path) -> None:
        """The version that is being built has a file unchanged: it will be at ``published`` too."""
        known = self._written.get(name)
        if known is not None and known.digest == digest:
            self._written[name] = replace(known, place=published)

    def _begin(self, name: str, plan: FilePlan, wanted: set[bytes], place: Path) -> _Written | None:
        """Begin a file, with what the last one begins with where that is worth it and still there: that one."""
        known = self._written.get(name)
        with place.open("wb") as file:
            if known is not None and known.columns == plan.columns:
                used = sum(group.bytes for key, group in known.groups.items() if key in wanted)
                if 2 * used >= known.end:
                    with suppress(FileNotFoundError), known.place.open("rb") as source:
                        if os.fstat(source.fileno()).st_size == known.size:
                            _copy(source, file, known.end)
                            return known
            file.write(MAGIC)
        return None


def _groups(plan: FilePlan) -> Iterator[tuple[bytes, int, int]]:
    """Row groups: a digest of all that their rows say, and where they begin and end."""
    digests = _digests(plan.digests)
    rows = len(digests)
    mean = max(FEWEST_ROWS, 1 << (2 * rows // MOST_GROUPS).bit_length())
    marks = digests[:, :4].copy().view(np.uint32)[:, 0]
    borders = np.flatnonzero(marks % mean == 0)
    edges = [0, *(border for border in borders.tolist() if border), rows]
    windows = [np.asarray(pc.fill_null(one.cast(pa.int64()), np.iinfo(np.int64).min)) for one in plan.windows.values()]
    for begin, stop in pairwise(edges):
        for first, last in row_groups(plan.size[begin:stop]):
            part = slice(begin + first, begin + last)
            digest = blake2b(digests[part].tobytes(), digest_size=_DIGEST)
            for values in windows:
                digest.update(values[part].tobytes())
            if plan.draft_keys is not None:
                digest.update(repr(plan.draft_keys[part].to_pylist()).encode())
            yield digest.digest(), part.start, part.stop


def _digests(column: pa.ChunkedArray) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    parts = []
    for chunk in column.chunks:
        data = chunk.buffers()[1].slice(chunk.offset * _DIGEST, len(chunk) * _DIGEST)
        parts.append(np.frombuffer(data, np.uint8).reshape(-1, _DIGEST))
    return np.concatenate(parts)


def _append(table: pa.Table, columns: Sequence[Column], file: pa.OSFile) -> _RowGroup:
    """Append rows as one row group to a file that is open for appending."""
    footers: list[pq.FileMetaData] = []
    descriptor = file.fileno()
    start = os.fstat(descriptor).st_size
    # The library appends to no file that has something in it. But it counts places by where the file stands, and the
    # system appends what is written wherever that is: told that it is at the beginning, it writes the magic bytes that
    # a file begins with, and stands behind them from then on.
    os.lseek(descriptor, 0, os.SEEK_SET)
    with parquet_writer(file, columns, footers) as writer:
        writer.write_table(table, row_group_size=max(1, len(table)))
        end = os.lseek(descriptor, 0, os.SEEK_CUR)
    os.ftruncate(descriptor, end)  # a footer of its own
    [footer] = footers
    first = footer.row_group(0).column(0)
    page = first.dictionary_page_offset if first.has_dictionary_page else first.data_page_offset
    if page != start + len(MAGIC):
        raise ParquetryError(
            "a row group is not where it is said to be: this is a fault of the build, please report it"
        )
    return _RowGroup(footer, end - start)


def _footer(columns: Sequence[Column], groups: Sequence[pq.FileMetaData]) -> bytes:
    """The end of a file that has these row groups, in this order."""
    footers: list[pq.FileMetaData] = []
    parquet_writer(pa.BufferOutputStream(), columns, footers).close()
    [footer] = footers
    for group in groups:
        footer.append_row_groups(group)
    end = io.BytesIO()
    footer.write_metadata_file(end)
    return end.getvalue()[len(MAGIC) :]


def _copy(source: BinaryIO, destination: BinaryIO, size: int) -> None:
    """Copy the first bytes of a file. Raises ``OSError``."""
    destination.flush()
    done = 0
    if hasattr(os, "copy_file_range"):
        with suppress(OSError):  # between some file systems it cannot; a full disk is met again below
            while done < size:
                copied = os.copy_file_range(source.fileno(), destination.fileno(), size - done, done, done)
                if copied == 0:
                    break
                done += copied
    source.seek(done)
    destination.seek(done)
    while done < size:
        data = source.read(min(1 << 20, size - done))
        if not data:
            raise OSError(f"{source.name} ended early")
        destination.write(data)
        done += len(data)

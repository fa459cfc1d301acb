"""A part of an opened version: its rows by position (design section 4).

Bodies are beside the DuckDB file that decides which rows an answer has, because fetching them from there reads whole
blocks of neighbours: measured at a million rows of 2 KB, 300 bodies took 190 ms from DuckDB and 1 ms from here.
"""

from __future__ import annotations

import mmap
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeAlias
from zlib import crc32

import numpy as np

from engine.read.files.array_file import ArrayFile
from engine.read.files.parts import Part
from engine.read.files.paths import bodies_file, search_file
from engine.read.files.row_arrays import (
    BODIES,
    BODY_AT,
    CHECK,
    ENTRIES,
    ENTRY_ROWS,
    ENTRY_STARTS,
    LIVE_FROM,
    LIVE_UNTIL,
    RECORDS,
    REFERENCES,
    REFERENCES_AT,
)
from engine.read.files.search_arrays import search_array
from engine.read.files.unusable import SnapshotUnusable
from engine.timeline.windows import Windows
from engine.visibility import is_live
from snapshots.columns import indexed_fields
from snapshots.data_files.segments import NUMBER_BITS, shared_bits

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class OpenedPart:
    """The rows of a part, by their positions in it. Any number of threads may read at the same time."""

    def __init__(self, directory: Path, part: Part) -> None:
        """``directory`` is the part's directory. Raises ``ValueError``, ``KeyError`` and others for files that are
        damaged or another part's, and ``OSError``.
        """
        self.part: Final = part
        self.ranges: Final = {one.lang: rows for one, rows in part.ranges()}
        """The positions of the rows in each language."""
        self.is_damaged = False
        """Whether a damage was found since the part was opened."""
        self._directory: Final = directory
        self.inode: Final = bodies_file(directory).stat().st_ino
        self.search: Final = ArrayFile(search_file(directory), part.token)
        """The search index of the part's texts (``search_arrays``)."""
        for source in part.files if part.is_indexed else ():
            for field in indexed_fields(part.api):
                self.search.numbers(search_array(source.lang, field, "texts"))
        self._file: Final = ArrayFile(bodies_file(directory), part.token)
        file = self._file
        _, first, size = file.stored[BODIES]
        file.map.madvise(mmap.MADV_RANDOM, 0, first + size)
        self._map = file.map
        paths = part.api.references
        self._records = file.numbers(RECORDS)
        self._width: Final = REFERENCES_AT + len(paths)
        """The numbers of a record."""
        if len(self._records) != (part.rows + 1) * self._width:
            raise ValueError(f"{bodies_file(directory).name} does not belong to it")
        self._checked = bytearray(part.rows)
        self._references = file.numbers(REFERENCES)
        bounds = [*range(REFERENCES_AT, self._width), self._width + REFERENCES_AT]
        self._references_at: Final = {path.name: at for path, at in zip(paths, pairwise(bounds), strict=True)}
        """By field, from the begin of a row's record on, where it says at which reference the row's begin and end."""
        self._entries = file.numbers(ENTRIES)
        self._rows = file.numbers(ENTRY_ROWS)
        self._buckets = file.numbers(ENTRY_STARTS)
        buckets = len(self._buckets) - 1
        self._shift = NUMBER_BITS - shared_bits(part.segment) - buckets.bit_length() + 1
        self._last_bucket = buckets - 1

    @property
    def bodies_size(self) -> int:
        """Bytes of all bodies."""
        return self._records[-self._width] - self._records[BODY_AT]

    def body(self, row: int) -> bytes:
        """Return a row's entry as JSON. Raises ``SnapshotUnusable`` where it is not what was written."""
        at, records = row * self._width, self._records
        body = self._map[records[at] : records[at + self._width]]  # ``BODY_AT`` is 0
        if not self._checked[row]:
            if crc32(body) != records[at + CHECK]:
                self.discard()
                raise SnapshotUnusable(f"{bodies_file(self._directory)} is damaged. It is rebuilt.")
            self._checked[row] = True
        return body

    def live_position(self, number: int, lang: str, now: int) -> int | None:
        """Return the position of the entry with a number where its version in a language is live at ``now`` (UTC
        milliseconds).

        An ID that has no row takes the same steps as one whose version is not live: time does not tell which there are.
        """
        rows = self.ranges.get(lang, range(0))
        bucket = number >> self._shift & self._last_bucket
        found = None
        for at in range(self._buckets[bucket], self._buckets[bucket + 1]):
            if self._entries[at] == number and self._rows[at] in rows:
                found = self._rows[at]
        live = self.is_live(rows.start if found is None else found, now)
        return found if live and found is not None else None

    def is_live(self, row: int, now: int) -> bool:
        """Whether the version in a row is live at ``now`` (UTC milliseconds)."""
        at = row * self._width
        return is_live(self._records[at + LIVE_FROM], self._records[at + LIVE_UNTIL], now)

    def windows(self, lang: str) -> tuple[Array, Windows]:
        """Return the entry number and the live window of every version in a language. Entry numbers ascend."""
        rows = self.ranges.get(lang, range(0))
        numbers, positions = np.asarray(self._entries), np.asarray(self._rows)
        inside = (positions >= rows.start) & (positions < rows.stop)
        positions = positions[inside]
        records = np.asarray(self._records).reshape(-1, self._width)
        return numbers[inside], Windows(records[positions, LIVE_FROM], records[positions, LIVE_UNTIL])

    def references(self, path: str, row: int) -> list[int]:
        """Return the numbers of the entries that a row's field names, whether there are such entries or not; of
        references to one of several APIs, each after the number of its endpoint."""
        begin, end = self._references_at[path]
        at, records = row * self._width, self._records
        return self._references[records[at + begin] : records[at + end]].tolist()

    def discard(self) -> None:
        """Mark the part as damaged and delete its bodies, so that the next process that opens a version makes it
        again."""
        self.is_damaged = True
        with suppress(OSError):  # it is made again already, or cannot be
            if bodies_file(self._directory).stat().st_ino == self.inode:
                bodies_file(self._directory).unlink()

    def close(self) -> None:
        """Close the files. Nothing may be read any more."""
        self._file.close()
        self.search.close()

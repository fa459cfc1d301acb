"""A part of an opened version: its rows by position (design section 4).

Bodies are beside the DuckDB file that decides which rows an answer has, because fetching them from there reads whole
blocks of neighbours: measured at a million rows of 2 KB, 300 bodies took 190 ms from DuckDB and 1 ms from here.
"""

from __future__ import annotations

import mmap
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeAlias
from zlib import crc32

import numpy as np
from msgspec import UNSET

from engine.read.files.array_file import ArrayFile
from engine.read.files.parts import Part
from engine.read.files.paths import bodies_file, search_file
from engine.read.files.row_arrays import (
    BODY_STARTS,
    CHECKS,
    ENTRIES,
    ENTRY_ROWS,
    ENTRY_STARTS,
    LIVE_FROM,
    LIVE_UNTIL,
    reference_apis,
    reference_starts,
    references_array,
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
        file.map.madvise(mmap.MADV_RANDOM)
        self._map = file.map
        self._starts = file.numbers(BODY_STARTS)
        self._checks = file.numbers(CHECKS)
        self._checked = bytearray(self.part.rows)
        self.live_from = file.numbers(LIVE_FROM)
        self.live_until = file.numbers(LIVE_UNTIL)
        """One a row each, UTC milliseconds."""
        self._entries = file.numbers(ENTRIES)
        self._rows = file.numbers(ENTRY_ROWS)
        self._buckets = file.numbers(ENTRY_STARTS)
        buckets = len(self._buckets) - 1
        self._shift = NUMBER_BITS - shared_bits(part.segment) - buckets.bit_length() + 1
        self._last_bucket = buckets - 1
        self._references = {
            path.name: (file.numbers(reference_starts(path.name)), file.numbers(references_array(path.name)))
            for path in self.part.api.references
        }
        self._reference_apis = {
            path.name: file.numbers(reference_apis(path.name))
            for path in self.part.api.references
            if path.field.targets is not UNSET
        }

    @property
    def bodies_size(self) -> int:
        """Bytes of all bodies."""
        return int(self._starts[-1] - self._starts[0])

    def body(self, row: int) -> bytes:
        """Return a row's entry as JSON. Raises ``SnapshotUnusable`` where it is not what was written."""
        body = self._map[self._starts[row] : self._starts[row + 1]]
        if not self._checked[row]:
            if crc32(body) != self._checks[row]:
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
        position = rows.start if found is None else found
        live = is_live(self.live_from[position], self.live_until[position], now)
        return position if live and found is not None else None

    def windows(self, lang: str) -> tuple[Array, Windows]:
        """Return the entry number and the live window of every version in a language. Entry numbers ascend."""
        rows = self.ranges.get(lang, range(0))
        numbers, positions = np.asarray(self._entries), np.asarray(self._rows)
        inside = (positions >= rows.start) & (positions < rows.stop)
        positions = positions[inside]
        return numbers[inside], Windows(np.asarray(self.live_from)[positions], np.asarray(self.live_until)[positions])

    def references(self, path: str, row: int) -> list[int]:
        """Return the numbers of the entries that a row's field names, whether there are such entries or not."""
        starts, numbers = self._references[path]
        return numbers[starts[row] : starts[row + 1]].tolist()

    def reference_apis(self, path: str, row: int) -> list[int]:
        """Return the numbers of the endpoints that a row's field names, one a reference."""
        starts, _ = self._references[path]
        return self._reference_apis[path][starts[row] : starts[row + 1]].tolist()

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

"""Write the bodies of entries in the cache, from a part's data files (design section 4)."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.read.files.array_file import ArrayFileWriter
from engine.read.files.row_arrays import BODIES
from snapshots.columns import JSON_COLUMN
from snapshots.data_files.stored_columns import lifted, stored_as
from snapshots.groups import delivered, refers_to_several
from snapshots.model import META_DATES, Api, field_path

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_ROWS_AT_ONCE: Final = 1024
_BYTES_AT_ONCE: Final = 4 << 20
"""Bytes joined at a time: few enough to be in the processor's cache when they are written."""
_DAY: Final = 86_400_000
_MINUTE: Final = 60_000
_INSTANT: Final = b"0000-00-00T00:00:00.000Z"


class BodiesWriter(ArrayFileWriter):
    """Writes a file of bodies, and of arrays beside them."""

    def write(self, api: Api, files: Iterable[Path]) -> tuple[Array, Array]:
        """Write the bodies of an API's data files' rows, in their order. Return the positions at which they begin, and
        after them that at which the last ends, and the CRC-32 of each. Raises ``OSError`` and ``ArrowException``."""
        first = end = self._aligned()
        starts, checks = [np.array([first], np.int64)], array("I")
        for content, ends in _bodies(api, files):
            self._file.write(content)
            starts.append(ends + end)
            begin = 0
            for stop in ends.tolist():
                checks.append(crc32(content[begin:stop]))
                begin = stop
            end += len(content)
        self._arrays[BODIES] = ("B", first, end - first)
        self.settle()
        return np.concatenate(starts), np.array(checks, np.uint32)


def _bodies(api: Api, files: Iterable[Path]) -> Iterator[tuple[memoryview, Array]]:
    """The bodies of data files' rows, a batch at a time: their bytes, and the position at which each ends there."""
    columns = ["id", *META_DATES, JSON_COLUMN]
    is_stored_so = not any(refers_to_several(field_path(field)) for field in api.fields)
    for path in files:
        # Arrow would read the columns of all row groups ahead, and hold on to them until the file is closed.
        with pq.ParquetFile(path, pre_buffer=False) as opened:
            stored = stored_as(columns, opened.schema_arrow)
            for number in range(opened.num_row_groups):
                group = lifted(opened.read_row_group(number, columns=stored, use_threads=False), columns)
                for part in group.to_batches():
                    texts = part[JSON_COLUMN]
                    if not is_stored_so:
                        texts = pa.array([delivered(api, one.as_py()) for one in texts], pa.binary()).cast(texts.type)
                    dates = _dates([part[name] for name in META_DATES], texts.type)
                    for first, end in _cuts(texts):
                        rows = slice(first, end)
                        yield _joined(part["id"][rows], dates[rows], texts[rows])


def _cuts(texts: pa.StringArray) -> Iterator[tuple[int, int]]:
    """Ranges (first, end) that divide texts into runs of about ``_BYTES_AT_ONCE`` bytes."""
    at, first = _offsets(texts), 0
    while first < len(texts):
        enough = int(np.searchsorted(at, at[first] + _BYTES_AT_ONCE))
        end = max(first + 1, min(enough, first + _ROWS_AT_ONCE, len(texts)))
        yield first, end
        first = end


def _joined(ids: pa.StringArray, dates: pa.StringArray, fields: pa.StringArray) -> tuple[memoryview, Array]:
    kind = fields.type
    has_fields = np.diff(_offsets(fields)) > len("{}")
    if not has_fields.all():
        fields = pc.if_else(pa.array(has_fields), fields, pa.scalar("}", kind))
    start, nothing = pa.scalar('{"id":"', kind), pa.scalar("", kind)
    bodies = pc.binary_join_element_wise(start, ids.cast(kind), dates, fields, nothing)
    ends = _offsets(bodies)[1:]
    content = bodies.buffers()[2]
    # The bracket that the fields begin with becomes the comma after the dates.
    at = ends - np.diff(_offsets(fields))
    np.frombuffer(content, np.uint8)[at[has_fields]] = ord(",")
    return memoryview(content)[: int(ends[-1])], ends


def _offsets(texts: pa.StringArray) -> Array:
    """The position of each text in the bytes of all, and after them that at which the last ends."""
    width = np.dtype(np.int64 if pa.types.is_large_string(texts.type) else np.int32)
    return np.frombuffer(texts.buffers()[1], width, len(texts) + 1, texts.offset * width.itemsize).astype(np.int64)


def _dates(columns: Sequence[pa.TimestampArray], kind: pa.DataType) -> pa.StringArray:
    """The bytes between a row's ID and its fields: the end of the ID, and the meta fields that are dates."""
    pattern, offsets = b'"', {}
    for name in META_DATES:
        pattern += f',"{name}":"'.encode()
        offsets[name] = len(pattern)
        pattern += _INSTANT + b'"'
    parts = {"names": ["day", "minute", "rest"], "formats": ["V10", "V5", "V6"], "offsets": [0, 11, 17]}
    of_instant: Any = {**parts, "itemsize": len(_INSTANT)}
    formats = [np.dtype(of_instant)] * len(offsets)
    of_row: Any = {"names": [*offsets], "formats": formats, "offsets": [*offsets.values()], "itemsize": len(pattern)}
    texts = np.full(len(columns[0]), np.void(pattern)).view(np.dtype(of_row))
    for name, column in zip(META_DATES, columns, strict=True):
        milliseconds = column.cast(pa.timestamp("ms", column.type.tz)).cast(pa.int64()).to_numpy()
        _write_instants(milliseconds, texts[name])
    width: Any = np.int64 if pa.types.is_large_string(kind) else np.int32
    at = (np.arange(len(texts) + 1) * len(pattern)).astype(width)
    return pa.Array.from_buffers(kind, len(texts), [None, pa.py_buffer(at), pa.py_buffer(texts)])


def _write_instants(milliseconds: Array, texts: Array) -> None:
    """Write UTC milliseconds as texts in the form of contract 2.3, a row each, over copies of ``_INSTANT``.

    Works by columns, and divides by constants only: DuckDB and Arrow take ten times as long.
    """
    days = milliseconds // _DAY
    inside = milliseconds - days * _DAY
    minutes = inside // _MINUTE
    first, last = (int(days.min()), int(days.max())) if len(days) else (0, 0)
    if last - first < len(days):
        known, positions = np.arange(first, last + 1), days - first
    else:
        known, positions = np.unique(days, return_inverse=True)
    of_minutes, of_milliseconds = _times()
    texts["day"] = _day_texts(known).take(positions)
    texts["minute"] = of_minutes.take(minutes)
    texts["rest"] = of_milliseconds.take(inside - minutes * _MINUTE)


def _day_texts(days: Array) -> Array:
    """Days since 1970 as year, month and day."""
    dates = days.astype("M8[D]")
    months = dates.astype("M8[M]")
    years, month = np.divmod(months.astype(np.int64), 12)
    return _printed("0000-00-00", {0: years + 1970, 5: month + 1, 8: (dates - months).astype(np.int64) + 1}, (4, 2, 2))


@lru_cache(1)
def _times() -> tuple[Array, Array]:
    """Every minute of a day, and every millisecond of a minute, as text."""
    minutes, milliseconds = np.arange(24 * 60), np.arange(60_000)
    return (
        _printed("00:00", {0: minutes // 60, 3: minutes % 60}, (2, 2)),
        _printed("00.000", {0: milliseconds // 1000, 3: milliseconds % 1000}, (2, 3)),
    )


def _printed(pattern: str, numbers: Mapping[int, Array], widths: Sequence[int]) -> Array:
    """Return copies of ``pattern`` with numbers, by position in it, in decimal digits printed ``widths`` wide."""
    texts = np.empty((len(next(iter(numbers.values()))), len(pattern)), np.uint8)
    texts[:] = np.frombuffer(pattern.encode(), np.uint8)
    for (offset, values), width in zip(numbers.items(), widths, strict=True):
        for digit in range(width):
            texts[:, offset + digit] = values // 10 ** (width - 1 - digit) % 10 + ord("0")
    return texts.view(f"V{len(pattern)}").ravel()

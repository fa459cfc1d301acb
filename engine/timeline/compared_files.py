"""Find the rows of data files of two versions that can make a difference, with their live windows in both.

The files are those of an API and language, and of the same segments: nearly always one of each version.

What comes of it holds for any two instants, so it is kept: the longest unused goes first, bounded in bytes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
import numpy as np

from engine.timeline.flips import Flips
from engine.timeline.published_rows import PublishedRows, opened_published
from engine.timeline.windows import Ints, Marks, Windows

if TYPE_CHECKING:
    import pyarrow as pa

DEFAULT_BYTES: Final = 64 << 20
_OVERHEAD: Final = 1_000
"""Bytes of memory that a comparison takes besides its arrays."""

Side: TypeAlias = "tuple[tuple[str, Callable[[], Path]], ...]"
"""Of each file the digest of its content, and what has the file on this machine."""


class FileComparison(msgspec.Struct, frozen=True):
    """The entries of old and new files that differ, or whose live window has a beginning or an end, in no order."""

    ids: pa.Array
    before: Windows
    """The live windows in the old files: of an entry that they do not have, one that is never live."""
    after: Windows
    """The live windows in the new files."""
    flips: Flips
    """The flips of the new files."""
    is_same: Marks
    """Whether the entry is the same in both."""
    published_before: Ints
    """``publishedAt`` of each in the old files, 0 for one that they do not have; UTC milliseconds."""
    published_after: Ints
    """The same in the new files."""

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return int(self.ids.nbytes) + len(self.ids) * (6 * 8 + 1) + self.flips.nbytes


class ComparedFiles:
    """Comparisons by the content of their files. Any number of threads may use it at the same time."""

    def __init__(self, capacity: int = DEFAULT_BYTES) -> None:
        self._capacity = capacity
        self._found: OrderedDict[tuple[tuple[str, ...], ...], FileComparison] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def compared(self, old: Side, new: Side) -> FileComparison:
        """Return the comparison of old and new files, read where it is not kept. Raises ``StoreError``."""
        name = tuple(tuple(content for content, _ in side) for side in (old, new))
        with self._lock:
            known = self._found.get(name)
            if known is not None:
                self._found.move_to_end(name)
                return known
        made = _compare(old, new)
        size = made.nbytes + _OVERHEAD
        with self._lock:
            if name not in self._found and size <= self._capacity:
                self._found[name] = made
                self._size += size
                while self._size > self._capacity:
                    _, oldest = self._found.popitem(last=False)
                    self._size -= oldest.nbytes + _OVERHEAD
        return made


def _compare(old: Side, new: Side) -> FileComparison:
    with ExitStack() as stack:

        def opened(side: Side) -> PublishedRows | None:
            return stack.enter_context(opened_published([bring() for _, bring in side])) if side else None

        if [content for content, _ in old] == [content for content, _ in new]:
            return _of_one(opened(new))
        return _of_two(opened(old), opened(new))


def _of_one(file: PublishedRows | None) -> FileComparison:
    """Return the comparison of files with themselves: their rows that are not always live."""
    windows = _windows(file)
    rows = np.flatnonzero(windows.are_bounded)
    bounds, published = windows.take(rows), _published(file)[rows]
    is_same = np.ones(len(rows), np.bool_)
    return FileComparison(_ids(file, rows), bounds, bounds, Flips(bounds.flips()), is_same, published, published)


def _of_two(old: PublishedRows | None, new: PublishedRows | None) -> FileComparison:
    import pyarrow as pa

    old_windows, new_windows = _windows(old), _windows(new)
    same_old, same_new, other_old, other_new = _matched(_digests(old), _digests(new))
    bounded = old_windows.are_bounded[same_old] | new_windows.are_bounded[same_new]
    same_old, same_new = same_old[bounded], same_new[bounded]
    gone_ids, new_ids = _ids(old, other_old), _ids(new, other_new)
    # Of rows without an equal one, those of the same entry belong together.
    positions = _positions(new_ids, gone_ids)
    # Rows of the new files, with the row of the old ones or -1, in the new ones' order; then those that are gone.
    of_new = np.concatenate([same_new, other_new])
    of_old = np.concatenate(
        [same_old, np.where(positions < 0, -1, other_old[positions]) if len(other_old) else positions]
    )
    is_same = np.arange(len(of_new)) < len(same_new)
    order = np.argsort(of_new, kind="stable")
    of_new, of_old, is_same = of_new[order], of_old[order], is_same[order]
    is_gone = np.ones(len(other_old), np.bool_)
    is_gone[positions[positions >= 0]] = False
    gone = other_old[is_gone]
    old_rows = np.concatenate([of_old, gone])
    new_rows = np.concatenate([of_new, np.full(len(gone), -1)])
    return FileComparison(
        ids=pa.concat_arrays([_ids(new, of_new), gone_ids.filter(pa.array(is_gone))]),
        before=old_windows.take_or_never(old_rows),
        after=new_windows.take_or_never(new_rows),
        flips=Flips(new_windows.flips()),
        is_same=np.concatenate([is_same, np.zeros(len(gone), np.bool_)]),
        published_before=_at(_published(old), old_rows),
        published_after=_at(_published(new), new_rows),
    )


def _at(values: Ints, rows: Ints) -> Ints:
    """Return the values at some positions, 0 for the position -1."""
    return np.where(rows < 0, 0, values[rows]) if len(values) else np.zeros(len(rows), np.int64)


def _matched(old: Ints, new: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the rows that both files have, as positions in the old one and in the new one, pair by pair; and the
    other rows of each, ascending."""
    old_order, new_order = np.argsort(old, kind="stable"), np.argsort(new, kind="stable")
    old_sorted, new_sorted = old[old_order], new[new_order]
    at = np.searchsorted(old_sorted, new_sorted)
    found = at < len(old)
    found[found] = old_sorted[at[found]] == new_sorted[found]
    same_old, same_new = old_order[at[found]], new_order[found]
    is_other_old, is_other_new = np.ones(len(old), np.bool_), np.ones(len(new), np.bool_)
    is_other_old[same_old] = False
    is_other_new[same_new] = False
    return same_old, same_new, np.flatnonzero(is_other_old), np.flatnonzero(is_other_new)


def _positions(ids: pa.Array, among: pa.Array) -> Ints:
    """Return the position of each ID in ``among``, -1 for one that is not there."""
    import pyarrow.compute as pc

    found: Ints = np.asarray(pc.fill_null(pc.index_in(ids, value_set=among), -1)).astype(np.int64)
    return found


_NO_ROWS: Final = np.zeros(0, np.int64)


def _windows(file: PublishedRows | None) -> Windows:
    return Windows(_NO_ROWS, _NO_ROWS) if file is None else file.windows()


def _published(file: PublishedRows | None) -> Ints:
    return _NO_ROWS if file is None else file.published()


def _digests(file: PublishedRows | None) -> Ints:
    return _NO_ROWS if file is None else file.digests()


def _ids(file: PublishedRows | None, rows: Ints) -> pa.Array:
    import pyarrow as pa

    return pa.array([], pa.string()) if file is None else file.ids(rows)

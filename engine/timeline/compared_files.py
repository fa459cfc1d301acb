"""Find the rows of two data files of an API and language that can make a difference, with their live windows in both.

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

Side: TypeAlias = "tuple[str, Callable[[], Path]] | None"
"""The digest of a file's content, and what has the file on this machine; ``None`` where there is no file."""


class FileComparison(msgspec.Struct, frozen=True):
    """The entries of two files that differ, or whose live window has a beginning or an end."""

    ids: pa.Array
    """The entries' IDs: those in the new file in its order, then those in the old file alone, in its order."""
    before: Windows
    """The live windows in the old file: of an entry that it does not have, one that is never live."""
    after: Windows
    """The live windows in the new file."""
    flips: Flips
    """The flips of the new file."""
    is_same: Marks
    """Whether the entry is the same in both files."""
    old_rows: Ints
    """The position of each in the old file, -1 for one that it does not have."""

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return int(self.ids.nbytes) + len(self.ids) * (5 * 8 + 1) + self.flips.nbytes


class ComparedFiles:
    """Comparisons by the content of their files. Any number of threads may use it at the same time."""

    def __init__(self, capacity: int = DEFAULT_BYTES) -> None:
        self._capacity = capacity
        self._found: OrderedDict[tuple[str | None, str | None], FileComparison] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def compared(self, old: Side, new: Side) -> FileComparison:
        """Return the comparison of two files, read where it is not kept. Raises ``StoreError``."""
        name = (old and old[0], new and new[0])
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
        if old is not None and new is not None and old[0] == new[0]:
            return _of_one(stack.enter_context(opened_published(new[1]())))
        ours = None if old is None else stack.enter_context(opened_published(old[1]()))
        theirs = None if new is None else stack.enter_context(opened_published(new[1]()))
        return _of_two(ours, theirs)


def _of_one(file: PublishedRows) -> FileComparison:
    """Return the comparison of a file with itself: its rows that are not always live."""
    windows = file.windows()
    rows = np.flatnonzero(windows.are_bounded)
    bounds = windows.take(rows)
    return FileComparison(file.ids(rows), bounds, bounds, Flips(bounds.flips()), np.ones(len(rows), np.bool_), rows)


def _of_two(old: PublishedRows | None, new: PublishedRows | None) -> FileComparison:
    import pyarrow as pa

    old_windows, new_windows = _windows(old), _windows(new)
    same_old, same_new, other_old, other_new = _matched(_digests(old), _digests(new))
    bounded = old_windows.are_bounded[same_old] | new_windows.are_bounded[same_new]
    same_old, same_new = same_old[bounded], same_new[bounded]
    gone_ids, new_ids = _ids(old, other_old), _ids(new, other_new)
    # Of rows without an equal one, those of the same entry belong together.
    positions = _positions(new_ids, gone_ids)
    # Rows of the new file, with the row of the old one or -1, in the new one's order; then those that are gone.
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
    return FileComparison(
        ids=pa.concat_arrays([_ids(new, of_new), gone_ids.filter(pa.array(is_gone))]),
        before=old_windows.take_or_never(old_rows),
        after=new_windows.take_or_never(np.concatenate([of_new, np.full(len(gone), -1)])),
        flips=Flips(new_windows.flips()),
        is_same=np.concatenate([is_same, np.zeros(len(gone), np.bool_)]),
        old_rows=old_rows,
    )


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


def _digests(file: PublishedRows | None) -> Ints:
    return _NO_ROWS if file is None else file.digests()


def _ids(file: PublishedRows | None, rows: Ints) -> pa.Array:
    import pyarrow as pa

    return pa.array([], pa.string()) if file is None else file.ids(rows)

"""View counts by row: a list's rows → the same rows by their counts, without a statement (contract 4.5)."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from engine.page_views.counting.totals import ViewTotals

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class ViewedRows:
    """The rows of one API by position, and how often the entry of each was viewed.

    Counts change every second or two while their older part stays for a day, so where the keys of a part are among
    the rows is remembered as long as that part is counted.
    """

    def __init__(self, ids: pa.ChunkedArray) -> None:
        """``ids`` are those of all rows, in the order of their positions."""
        self._ids: Final = ids
        self._found: list[tuple[pa.StringArray, Array, Array]] = []
        self._totals: Array | None = None
        self._generation = 0

    def totals(self, views: ViewTotals) -> Array:
        """The count of every row, zero for what was never viewed. One thread at a time."""
        import numpy as np  # noqa: PLC0415 - heavy, for those who sort by views only

        if self._totals is None or self._generation != views.generation:
            totals = np.zeros(len(self._ids), np.int64)
            found = []
            for names, numbers in views.parts():
                rows, places = self._places(names)
                totals[rows] += np.asarray(numbers)[places]
                found.append((names, rows, places))
            self._totals, self._generation, self._found = totals, views.generation, found
        return self._totals

    def _places(self, names: pa.StringArray) -> tuple[Array, Array]:
        """The rows whose IDs are among these, and for each its place there."""
        import numpy as np  # noqa: PLC0415 - heavy to import
        import pyarrow.compute as pc  # noqa: PLC0415 - as above

        for known, rows, places in self._found:
            if known is names:
                return rows, places
        at = pc.fill_null(pc.index_in(self._ids, value_set=names), -1).to_numpy()
        found = np.flatnonzero(at >= 0).astype(np.int32)
        return found, at[found]


def by_totals(rows: Sequence[int], totals: Array, *, descending: bool) -> array[int]:
    """Rows in default order → the same by their counts, equal ones as they were."""
    import numpy as np  # noqa: PLC0415 - heavy to import

    if isinstance(rows, range):
        positions = np.arange(rows.start, rows.stop, rows.step, dtype=np.int64)
    else:
        held: Any = rows  # what is no range is an array
        positions = np.frombuffer(held, np.int64) if rows else np.empty(0, np.int64)
    keys = totals[positions]
    order = np.argsort(-keys if descending else keys, kind="stable")
    return array("q", positions[order].tobytes())

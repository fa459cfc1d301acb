"""All-time counts of entries as one table, for ``orders=views`` (contract 4.5)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from itertools import count
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow as pa

_generations: Final = count(1)


def next_generation() -> int:
    """A number higher than any before in this process."""
    return next(_generations)


class ViewTotals:
    """A table (``id``, ``total``) with every entry that was viewed. Later ones have a higher ``generation``."""

    def __init__(self, make: Callable[[], pa.Table], generation: int) -> None:
        """``make`` is called once, when the table is first asked for; generation 0 is that of no counts at all."""
        self._make = make
        self._lock = threading.Lock()
        self._table: pa.Table | None = None
        self.generation: Final = generation

    @classmethod
    def of(cls, totals: Mapping[str, int]) -> ViewTotals:
        """The totals of entry IDs; what is not among them counts zero."""

        def make() -> pa.Table:
            import pyarrow as pa  # noqa: PLC0415 - 0.2 s, for those who sort by views only

            ids, numbers = pa.array(list(totals), pa.string()), pa.array(list(totals.values()), pa.int64())
            return pa.table({"id": ids, "total": numbers})

        return cls(make, next_generation() if totals else 0)

    @property
    def table(self) -> pa.Table:
        with self._lock:
            if self._table is None:
                self._table = self._make()
            return self._table


NO_VIEWS: Final = ViewTotals.of({})

"""All-time counts of entries, for ``orders=views`` (contract 4.5)."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa

Part: TypeAlias = "tuple[pa.StringArray, memoryview[int]]"
_generations: Final = count(1)


def next_generation() -> int:
    """A number higher than any before in this process."""
    return next(_generations)


class ViewTotals:
    """The total of every entry that was viewed. Later totals have a higher ``generation``."""

    def __init__(self, parts: Callable[[], Sequence[Part]], generation: int) -> None:
        """``parts`` returns IDs, distinct in each part, and a count for each; an entry's total is their sum.
        Generation 0 has no counts."""
        self.parts: Final = parts
        self.generation: Final = generation

    @classmethod
    def of(cls, totals: Mapping[str, int]) -> ViewTotals:
        """Totals by entry ID; an entry that is not among them counts zero."""

        def parts() -> list[Part]:
            import pyarrow as pa

            return [(pa.array(list(totals), pa.string()), memoryview(array("q", totals.values())))]

        return cls(parts, next_generation() if totals else 0)

    def table(self) -> pa.Table:
        """A table (``id``, ``total``) with every entry that was viewed."""
        import pyarrow as pa

        tables = [
            pa.table(
                {"id": names, "total": pa.Array.from_buffers(pa.int64(), len(names), [None, pa.py_buffer(numbers)])}
            )
            for names, numbers in self.parts()
        ]
        if len(tables) == 1:
            return tables[0]
        summed = pa.concat_tables(tables).group_by("id").aggregate([("total", "sum")])
        return summed.rename_columns({"total_sum": "total"})


NO_VIEWS: Final = ViewTotals.of({})

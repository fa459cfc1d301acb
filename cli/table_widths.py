"""The columns of a table → their widths on a terminal, so that every row stays on its line."""

from __future__ import annotations

from collections.abc import Sequence

GAP = 2
"""Cells between two columns."""
LEAST = 10
"""Cells that a column which may be cut keeps at the least; it then ends in an ellipsis."""


def table_widths(natural: Sequence[int], whole: Sequence[bool], spare: Sequence[int], room: int) -> dict[int, int]:
    """The width in cells of every column that is shown, by its number.

    ``natural`` are the widths that show everything, ``whole`` says which columns are never cut. Where the least that
    the columns need is more than ``room``, those in ``spare`` are left out, the first of them first, and taken in
    again where there is room for them after all.
    """
    least = [width if kept else min(width, LEAST) for width, kept in zip(natural, whole, strict=True)]
    shown = set(range(len(natural)))
    left_out = []
    for column in spare:
        if _needed(least, shown) > room:
            shown.remove(column)
            left_out.append(column)
    for column in reversed(left_out):
        if _needed(least, {*shown, column}) <= room:
            shown.add(column)
    widths = {column: least[column] for column in sorted(shown)}
    for _ in range(room - _needed(least, shown)):
        cut = [column for column in widths if widths[column] < natural[column]]
        if not cut:
            break
        widths[min(cut, key=widths.__getitem__)] += 1
    return widths


def _needed(least: Sequence[int], shown: set[int]) -> int:
    return sum(least[column] for column in shown) + GAP * (len(shown) - 1)

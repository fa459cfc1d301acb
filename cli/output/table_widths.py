"""Choose the widths of a table's columns with which every row fits on one line of the terminal."""

from __future__ import annotations

from collections.abc import Sequence

GAP = 2
"""Cells between two columns."""
LEAST = 10
"""The least width in cells of a cut column, its ellipsis included."""


def table_widths(natural: Sequence[int], whole: Sequence[bool], spare: Sequence[int], room: int) -> dict[int, int]:
    """Return the width in cells of every column shown, by the column's number.

    ``natural`` has the widths that show every value whole; columns with true in ``whole`` are never cut. While the
    least widths of the columns add up to more than ``room``, columns in ``spare`` are left out, the first of them
    first; afterwards those that fit are taken in again.
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

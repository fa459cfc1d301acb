"""Ranges of values: the rows found by search among values that descend are those found by comparing each."""

from __future__ import annotations

import numpy as np
import pytest

from engine.read.query.selection.bits import bits_between, bits_of, marks_of, page_of
from engine.read.query.selection.conditions import Values

COUNT = 200
EDGES = (0, 1, 63, 64, 65, 127, 128, 129, 191, 192, 199, 200)


@pytest.mark.parametrize("first", EDGES)
def test_a_stretch_of_rows_is_the_set_of_each_of_them(first: int) -> None:
    for end in EDGES:
        marks = np.zeros(COUNT, bool)
        marks[first:end] = True
        found = bits_between(first, end, COUNT)
        assert (found == bits_of(marks)).all(), end
        assert page_of(found, 1, 3) == (max(end - first, 0), list(range(first, end))[1:4]), end


@pytest.mark.parametrize("first", [0, 60, 100])
def test_a_range_has_the_same_rows_by_search_as_by_comparing(first: int) -> None:
    numbers = np.repeat(np.arange(20.0), [1, 3] * 10)[::-1].copy()  # several rows have the same value
    by_search, by_comparing = Values(first, numbers, descend=True), Values(first, numbers, descend=False)
    for bound in (-1.0, 0.0, 0.5, 7.0, 19.0, 20.0):
        above, below = by_search.above(bound, COUNT), by_search.below(bound, COUNT)
        assert (above == by_comparing.above(bound, COUNT)).all(), bound
        assert (below == by_comparing.below(bound, COUNT)).all(), bound
        found = np.flatnonzero(marks_of(above, COUNT)).tolist()
        assert found == [first + row for row, number in enumerate(numbers) if number > bound]

"""Ranges of values: the rows found by search among values that descend are those found by comparing each."""

from __future__ import annotations

import numpy as np
import pytest

from engine.read.query.selection.bits import RowSet, as_bits, bits_at, bits_of, in_both, in_either, marks_of, page_of
from engine.read.query.selection.conditions import Values, values_from
from engine.read.query.selection.select import Order
from engine.timeline.flips import Epoch

COUNT = 200
EDGES = (0, 1, 63, 64, 65, 127, 128, 129, 191, 192, 199, 200)


def rows_of(found: RowSet) -> list[int]:
    rows: list[int] = np.flatnonzero(marks_of(as_bits(found, COUNT), COUNT)).tolist()
    return rows


@pytest.mark.parametrize("first", EDGES)
def test_a_stretch_of_rows_is_the_set_of_each_of_them(first: int) -> None:
    for end in EDGES:
        marks = np.zeros(COUNT, bool)
        marks[first:end] = True
        found = as_bits(range(first, end), COUNT)
        assert (found == bits_of(marks)).all(), end
        assert page_of(found, 1, 3) == (max(end - first, 0), list(range(first, end))[1:4]), end


@pytest.mark.parametrize("first", EDGES)
def test_stretches_are_joined_as_sets_are(first: int) -> None:
    one = set(range(first, 150))
    for end in EDGES:
        other = set(range(40, end))
        for as_sets in (lambda rows: rows, lambda rows: as_bits(rows, COUNT)):
            stretches = range(first, max(first, 150)), as_sets(range(40, max(end, 40)))
            assert rows_of(in_both(*stretches, COUNT)) == sorted(one & other), end
            assert rows_of(in_either(*stretches, COUNT)) == sorted(one | other), end


@pytest.mark.parametrize("first", EDGES)
def test_a_page_of_a_stretch_is_that_of_its_rows(first: int) -> None:
    rows = np.flatnonzero(np.arange(COUNT) % 3).astype(np.int32)
    order = Order(rows, bits_at(rows, COUNT), is_stored=True, epoch=Epoch(0, 1))
    for end in EDGES:
        stretch = range(first, max(first, end))
        for offset in (0, 1, 90, 1000):
            found = order.page_among(stretch, offset, 7)
            listed = [row for row in rows.tolist() if row in stretch]
            assert (found.total, found.rows) == (len(listed), listed[offset : offset + 7])
            assert found == order.page_among(as_bits(stretch, COUNT), offset, 7)


@pytest.mark.parametrize("first", [0, 60, 100])
def test_a_range_has_the_same_rows_by_search_as_by_comparing(first: int) -> None:
    numbers = np.repeat(np.arange(20.0), [1, 3] * 10)[::-1].copy()  # several rows have the same value
    by_search, by_comparing = values_from(first, numbers), Values(first, numbers, descend=False)
    assert by_search.descend
    for bound in (-1.0, 0.0, 0.5, 7.0, 19.0, 20.0):
        above, below = by_search.above(bound, COUNT), by_search.below(bound, COUNT)
        assert rows_of(above) == rows_of(by_comparing.above(bound, COUNT)), bound
        assert rows_of(below) == rows_of(by_comparing.below(bound, COUNT)), bound
        assert rows_of(above) == [first + row for row, number in enumerate(numbers) if number > bound]

"""Pages of rows that a search found at their places in the parts of an API, against those of plain lists of rows."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.read.query.selection import select
from engine.read.query.selection.bits import as_bits, bits_at, marks_of
from engine.read.query.selection.select import Order
from engine.read.search import placed_rows
from engine.read.search.placed_rows import PlacedRows, Places
from engine.read.search.row_bits import RowBits, packed
from engine.timeline.flips import Epoch
from tests.generated.budget import RANDOM, TIMES


@settings(RANDOM, max_examples=100 * TIMES)
@given(
    st.lists(st.integers(0, 90), min_size=1, max_size=4).filter(any),
    st.integers(0, 70),
    st.integers(0, 70),
    st.sampled_from([0.02, 0.3, 0.9, 1]),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_a_page_of_placed_rows_is_that_of_the_same_rows(
    parts: list[int], before: int, after: int, share: float, is_stored: bool, seed: int
) -> None:
    chance = Random(seed)
    bits = RowBits(parts)
    every = [number * bits.stride + at for number, count in enumerate(parts) for at in range(count)]
    chance.shuffle(every)
    rows = range(before, before + len(every))  # of other languages are those before, and after
    places, count = Places(bits, rows, np.array(every)), before + len(every) + after
    found = {row for row in rows if chance.random() < share}
    marks = np.zeros(len(bits.spare) * 64, bool)
    marks[[every[row - before] for row in found]] = True
    placed = PlacedRows(packed(marks), places)
    shown = [row for row in rows if chance.random() < 0.8]
    if not is_stored:
        chance.shuffle(shown)
    order = Order(np.array(shown, np.int64), bits_at(np.array(shown, int), count), is_stored, Epoch(0, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placed_rows, "_MANY", chance.choice([1, 16, 1000]))
        patch.setattr(select, "_NEAR", chance.choice([0, 4, 1000]))
        patch.setattr(select, "_SPARE", chance.choice([1, 64]))
        for some, expected in ((placed, found), (placed.others(), set(rows) - found)):
            assert np.flatnonzero(marks_of(as_bits(some, count), count)).tolist() == sorted(expected)
            assert some.size == len(expected)
            visible = places.placed(marks_of(order.visible, count))
            for offset in (0, 1, 50, 1000):
                page = order.page_among_placed(visible, some, offset, 7)
                listed = [row for row in shown if row in expected]
                assert (page.total, page.rows) == (len(listed), listed[offset : offset + 7])

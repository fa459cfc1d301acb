"""Rows sorted by fields' values: a page of them is what sorting all of them gives (contract 4.5, decision 8)."""

from __future__ import annotations

import random
from array import array
from collections.abc import Sequence
from math import isnan, nan

import numpy as np
import pytest

from engine.reader.value_orders import SortKey, page_of


def _expected(rows: Sequence[int], columns: list[list[float]], descending: list[bool]) -> list[int]:
    """By plain sorting, the last key first: each sort keeps what was equal as it was."""
    found = list(rows)
    for column, down in reversed(list(zip(columns, descending, strict=True))):
        found.sort(key=lambda row: (isnan(column[row]), -column[row] if down else column[row]))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_page_by_values_is_that_of_the_sorted_list(seed: int) -> None:
    chance = random.Random(seed)
    size = chance.choice([1, 2, 7, 60])
    pool = chance.choice([[nan], [1.0, nan], [0.0, -0.0, 2.5, nan], [*map(float, range(-9, 9))]])
    columns = [[chance.choice(pool) for _ in range(size)] for _ in range(chance.choice([1, 2, 3]))]
    descending = [chance.random() < 0.5 for _ in columns]
    rows: Sequence[int] = range(chance.randrange(size), size)
    if chance.random() < 0.5:
        rows = array("q", chance.sample(range(size), chance.randrange(size + 1)))
    order = [
        SortKey(np.array(column).__getitem__, descending=down) for column, down in zip(columns, descending, strict=True)
    ]
    expected = _expected(rows, columns, descending)
    for offset in range(size + 1):
        limit = chance.randrange(size + 2)
        assert page_of(rows, order, offset, limit) == expected[offset : offset + limit]

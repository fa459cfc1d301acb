"""Live windows: which of them begin, end and are live, by a table of all kinds of windows."""

from __future__ import annotations

import numpy as np

from engine.timeline.windows import Windows
from snapshots.model import ALWAYS, NEVER

# live from, live until, bounded, begins, ends, live at 10
KINDS = [
    (ALWAYS, NEVER, False, False, False, True),
    (ALWAYS, 10, True, False, True, False),
    (ALWAYS, 11, True, False, True, True),
    (10, NEVER, True, True, False, True),
    (11, NEVER, True, True, False, False),
    (10, 11, True, True, True, True),
    (10, 10, True, False, False, False),
    (11, 10, True, False, False, False),
    (NEVER, ALWAYS, True, False, False, False),
]


def test_each_kind_of_window() -> None:
    since, until, bounded, begin, end, live = zip(*KINDS, strict=True)
    windows = Windows(np.array(since), np.array(until))
    assert windows.are_bounded.tolist() == list(bounded)
    assert windows.begin.tolist() == list(begin)
    assert windows.end.tolist() == list(end)
    assert windows.are_live(10).tolist() == list(live)
    assert windows.are_live(np.full(len(KINDS), 10)).tolist() == list(live)


def test_a_row_that_is_missing_is_never_live() -> None:
    windows = Windows(np.array([ALWAYS, 5]), np.array([NEVER, 7]))
    taken = windows.take_or_never(np.array([1, -1, 0]))
    assert taken.are_live(6).tolist() == [True, False, True]
    assert not windows.take(np.array([], dtype=np.int64)).take_or_never(np.array([-1])).are_live(6).any()

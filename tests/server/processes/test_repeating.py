"""Steps that are taken again and again: how soon after they went well, and after a failure."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import pytest

from server.processes.repeating import FAILED_SECONDS, repeat
from snapshots.store.durable import StoreError


class Pauses(Event):
    """Never waits: notes how long it was to wait, and is set after a number of waits."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.seconds: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.seconds.append(timeout)
        return len(self.seconds) == self.most


@pytest.mark.parametrize("failure", [StoreError("away"), OSError("away"), ValueError("a fault of the program")])
@pytest.mark.parametrize(("seconds", "after_failure"), [(3600.0, FAILED_SECONDS), (1.0, 1.0)])
def test_a_step_that_failed_is_taken_again_soon(failure: Exception, seconds: float, after_failure: float) -> None:
    outcomes: Iterator[Exception | None] = iter([failure, failure, None, failure, None, None])

    def step() -> None:
        outcome = next(outcomes)
        if outcome is not None:
            raise outcome

    pauses = Pauses(6)
    repeat(step, seconds, pauses, trouble="it waits: %s")
    assert pauses.seconds == [after_failure, after_failure, seconds, after_failure, seconds, seconds]


def test_a_step_says_when_it_is_due_again() -> None:
    due = iter([5.0, 0.0, 7200.0])
    pauses = Pauses(3)
    repeat(lambda: next(due), 60.0, pauses, trouble="it waits: %s")
    assert pauses.seconds == [5.0, 0.0, 7200.0]

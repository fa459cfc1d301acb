"""Views are written off the event loop: a disk that stalls holds up the requests that wait for it, and no other."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from functools import partial

import pytest

from server.view_keeping import ViewKeeping


def test_what_comes_in_meanwhile_is_written_together_and_told_when_it_is_written() -> None:
    stalled, written = threading.Event(), list[Sequence[int]]()

    def keep(views: Sequence[int]) -> None:
        if not written:
            assert stalled.wait(60)
        written.append(views)

    async def send() -> None:
        keeping.start()
        last = asyncio.Event()
        keeping.put(0, partial(told.append, 0))
        await asyncio.sleep(0.05)  # the thread is in the first write now
        for number in range(1, 19):
            keeping.put(number, partial(told.append, number))
        keeping.put(19, last.set)
        await asyncio.sleep(0.05)
        assert told == []
        stalled.set()
        await last.wait()

    told: list[int] = []
    keeping = ViewKeeping(keep)
    asyncio.run(send())
    assert told == list(range(19))
    assert written == [[0], list(range(1, 20))]
    keeping.stop()


@pytest.mark.parametrize("waiting", [0, 3])
def test_the_end_waits_for_what_is_to_be_written(waiting: int) -> None:
    written: list[int] = []

    async def send() -> None:
        keeping.start()
        for number in range(waiting):
            keeping.put(number, written.sort)
        keeping.stop()

    keeping = ViewKeeping(written.extend)
    asyncio.run(send())
    assert written == list(range(waiting))
    keeping.stop()

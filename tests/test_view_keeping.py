"""Views are written off the event loop: a disk that stalls holds up the requests that wait for it, and no other."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

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
        first = keeping.put(0)
        await asyncio.sleep(0.05)  # the thread is in the first write now
        others = [keeping.put(number) for number in range(1, 20)]
        given_up = others.pop()
        given_up.cancel()
        await asyncio.sleep(0.05)
        assert not first.done()
        assert not any(one.done() for one in others)
        stalled.set()
        await asyncio.gather(first, *others)

    keeping = ViewKeeping(keep)
    asyncio.run(send())
    assert written == [[0], list(range(1, 20))]
    keeping.stop()


@pytest.mark.parametrize("waiting", [0, 3])
def test_the_end_waits_for_what_is_to_be_written(waiting: int) -> None:
    written: list[int] = []

    async def send() -> None:
        keeping.start()
        for number in range(waiting):
            keeping.put(number)
        keeping.stop()

    keeping = ViewKeeping(written.extend)
    asyncio.run(send())
    assert written == list(range(waiting))
    keeping.stop()

"""Views are written off the event loop: a disk that stalls holds up the requests that wait for it, and no other."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Sequence
from functools import partial

import pytest

from server.views import batching
from server.views.batching import GATHER_SECONDS, MOST_GATHERED, ViewKeeping


def _nothing() -> None:
    pass


def _everything(view: int) -> int:
    return view


def _odd(view: int) -> int | None:
    return view if view % 2 else None


def test_what_comes_in_meanwhile_is_written_together_and_told_when_it_is_written() -> None:
    begun, stalled, written = threading.Event(), threading.Event(), list[Sequence[int]]()

    def keep(views: Sequence[int]) -> None:
        if not written:
            begun.set()
            assert stalled.wait(60)
        written.append(views)

    async def send() -> None:
        keeping.start()
        last = asyncio.Event()
        keeping.put(0, partial(told.append, 0))
        await asyncio.to_thread(begun.wait, 60)
        for number in range(1, 19):
            keeping.put(number, partial(told.append, number))
        keeping.put(19, last.set)
        await asyncio.sleep(0.05)
        assert told == []
        stalled.set()
        await last.wait()

    told: list[int] = []
    keeping = ViewKeeping(_everything, keep)
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

    keeping = ViewKeeping(_everything, written.extend)
    asyncio.run(send())
    assert written == list(range(waiting))
    keeping.stop()


@pytest.mark.parametrize("number", [1, MOST_GATHERED - 1, MOST_GATHERED, MOST_GATHERED + 1, 1000])
def test_views_that_come_in_at_once_share_a_write(number: int) -> None:
    written: list[Sequence[int]] = []

    async def send() -> None:
        keeping.start()
        last = asyncio.Event()
        for view in range(number):
            keeping.put(view, last.set if view == number - 1 else _nothing)
        await asyncio.wait_for(last.wait(), 60)

    keeping = ViewKeeping(_everything, written.append)
    asyncio.run(send())
    keeping.stop()
    assert [view for views in written for view in views] == list(range(number))
    assert len(written) <= 1 + number // MOST_GATHERED


def test_no_view_is_left_waiting_however_they_come() -> None:
    written: list[int] = []
    chance = random.Random(1)

    async def send() -> None:
        keeping.start()
        told = asyncio.Semaphore(0)
        for view in range(5000):
            keeping.put(view, told.release)
            if chance.random() < 0.2:
                await asyncio.sleep(chance.choice([0, 0, 0, 0.0001, GATHER_SECONDS]))
        for _ in range(5000):
            await asyncio.wait_for(told.acquire(), 60)

    keeping = ViewKeeping(_everything, written.extend)
    asyncio.run(send())
    keeping.stop()
    assert written == list(range(5000))


@pytest.mark.parametrize("ended", [False, True])
def test_what_does_not_count_is_told_without_being_written(ended: bool) -> None:
    written: list[int] = []
    told: list[int] = []

    async def send() -> None:
        keeping.start()
        for view in range(MOST_GATHERED + 3):
            keeping.put(view, partial(told.append, view))
        if ended:
            keeping.stop()
        while len(told) < MOST_GATHERED + 3:
            await asyncio.sleep(0.001)

    keeping = ViewKeeping(_odd, written.extend)
    asyncio.run(asyncio.wait_for(send(), 60))
    keeping.stop()
    assert sorted(told) == list(range(MOST_GATHERED + 3))
    assert written == list(range(1, MOST_GATHERED + 3, 2))


def test_nobody_waits_for_others_where_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "GATHER_SECONDS", 1e6)
    written: list[Sequence[int]] = []

    async def send() -> None:
        keeping.start()
        for view in range(3):
            told = asyncio.Event()
            keeping.put(view, told.set, 1)
            await asyncio.wait_for(told.wait(), 60)
        all_told = asyncio.Semaphore(0)
        for view in range(3, 6):
            assert len(written) == 3
            keeping.put(view, all_told.release, 3)
        for _ in range(3):
            await asyncio.wait_for(all_told.acquire(), 60)

    keeping = ViewKeeping(_everything, written.append)
    asyncio.run(send())
    keeping.stop()
    assert written == [[0], [1], [2], [3, 4, 5]]

"""Work beside the answers stands back behind them, in its own thread only."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

from server.processes.standing_back import stand_back
from server.views.batching import ViewKeeping


def _scheduled() -> int:
    return os.sched_getscheduler(0)


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="only Linux has it")
def test_a_thread_stands_back_and_the_others_do_not() -> None:
    found: list[int] = []

    def work() -> None:
        stand_back()
        found.append(_scheduled())

    thread = threading.Thread(target=work)
    before = _scheduled()
    thread.start()
    thread.join()
    assert (found, _scheduled()) == ([os.SCHED_BATCH], before)


def test_where_it_is_forbidden_views_are_written_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> None:
        raise PermissionError

    async def send() -> None:
        keeping.start()
        told = asyncio.Event()
        keeping.put(1, told.set)
        await asyncio.wait_for(told.wait(), 60)

    monkeypatch.setattr(os, "sched_setscheduler", forbidden, raising=False)
    written: list[int] = []
    keeping: ViewKeeping[int, int] = ViewKeeping(int, written.extend)
    asyncio.run(send())
    keeping.stop()
    assert written == [1]

"""The lanes of threads: who is refused for the time that others take, and who is not."""

from __future__ import annotations

import asyncio
import threading

from server.delivery.lanes import Lanes


def test_one_piece_of_work_that_took_long_has_nothing_refused_after_it() -> None:
    async def ask() -> int:
        lanes = Lanes(1, 1.0)
        release = threading.Event()
        lanes.submit(lambda: release.wait(0.6), short=True)
        await asyncio.sleep(0.7)
        waiting = [asyncio.wrap_future(lanes.submit(lambda: None, short=True)) for _ in range(200)]
        await asyncio.gather(*waiting)
        lanes.shutdown()
        return len(waiting)

    assert asyncio.run(ask()) == 200

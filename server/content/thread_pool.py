"""Work for the threads that run statements: started at once, waited for a moment, or refused (503)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Final, TypeVar

from snapshots.problems import ParquetryError

MOST_WAITING: Final = 1000
"""Requests that wait for a thread, in each lane, whatever time they would take."""
FEW_WAITING: Final = 64
"""Requests of which each is given its time to wait: clients that are refused at once ask again at once."""

_WEIGHT: Final = 0.1
"""Of the newest time in the mean of the times."""
_BEHIND: Final = 0.25
"""Of the longest wait: nothing is refused for the time it is expected to wait, while others wait less than this."""

Result = TypeVar("Result")


class Overloaded(ParquetryError):
    """More is asked for than can be answered in time (503)."""

    def __init__(self) -> None:
        super().__init__("The server has more to do than it can do in time. Try again in a moment.")


class Statements:
    """Two lanes of threads, one for what is known to be quick and one for the rest, so that many searches never
    hold up a look-up. To be used on the event loop."""

    def __init__(self, threads: int, longest_wait: float, observe: Callable[[float], object] | None = None) -> None:
        """``threads`` run at once in both lanes together; ``longest_wait`` is seconds before one is free; ``observe``
        is told, in the thread, how many seconds each work took."""
        slow = threads // 2
        self._quick = _Lane("quick-statements", threads - slow, longest_wait, observe)
        self._slow = _Lane("statements", slow, longest_wait, observe) if slow else self._quick

    def submit(self, work: Callable[[], Result], *, quick: bool) -> Future[Result]:
        """Begin ``work`` in a thread, now or within the longest wait; cancelled when none was free by then.

        Raises ``Overloaded`` where that is to be expected.
        """
        return (self._quick if quick else self._slow).submit(work)

    def shutdown(self) -> None:
        """Begin nothing more, and wait for nothing."""
        for lane in {self._quick, self._slow}:
            lane.shutdown()


class _Lane:
    def __init__(self, name: str, threads: int, longest_wait: float, observe: Callable[[float], object] | None) -> None:
        self._pool = ThreadPoolExecutor(threads, name)
        self._threads = threads
        self._longest_wait = longest_wait
        self._observe = observe
        self._unfinished = 0
        self._mean = 0.0
        self._newest = 0.0
        self._waited = 0.0  # seconds that what was begun last had to wait

    def submit(self, work: Callable[[], Result]) -> Future[Result]:
        waiting = self._unfinished - self._threads
        # One work that took long, such as the first of its kind, must not have many quick ones refused after it.
        behind = self._waited > self._longest_wait * _BEHIND
        expected = min(self._mean, self._newest)
        hopeless = waiting > FEW_WAITING and behind and waiting * expected > self._longest_wait * self._threads
        if waiting >= MOST_WAITING or hopeless:
            raise Overloaded
        loop = asyncio.get_running_loop()
        submitted = time.monotonic()

        def timed() -> Result:
            began = time.monotonic()
            self._waited = began - submitted
            try:
                return work()
            finally:
                seconds = time.monotonic() - began
                self._newest = seconds
                self._mean += (seconds - self._mean) * _WEIGHT
                if self._observe is not None:
                    self._observe(seconds)

        future = self._pool.submit(timed)
        self._unfinished += 1
        timer = loop.call_later(self._longest_wait, future.cancel)  # which has no effect once it runs

        def finished() -> None:
            self._unfinished -= 1
            timer.cancel()

        def tell(_: Future[Result]) -> None:
            with suppress(RuntimeError):  # the loop is closed: nothing is submitted any more
                loop.call_soon_threadsafe(finished)

        future.add_done_callback(tell)
        return future

    def shutdown(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

"""The lanes of threads that make answers: work begins now, waits for a moment, or is refused (503)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Final, TypeVar

from server.tracing.trace_context import CURRENT, traced_work
from snapshots.problems import ParquetryError

MOST_WAITING: Final = 1000
"""Work that waits for a thread, in each lane, whatever time it would take."""
FEW_WAITING: Final = 64
"""Work of which each piece is given its time to wait: clients that are refused immediately ask again immediately."""

_WEIGHT: Final = 0.1
"""Weight of the newest time in the mean of the times."""
_BEHIND: Final = 0.25
"""Share of the longest wait. Nothing is refused for the time that it is expected to wait, while other work waits less
than this."""

Result = TypeVar("Result")


class Overloaded(ParquetryError):
    """More is asked for than can be answered in time (503)."""

    def __init__(self) -> None:
        super().__init__("The server is busy. Try again in a moment.")


class Lanes:
    """Two lanes of threads, one for short work and one for long work, so that many searches never hold up one entry.
    To be used on the event loop."""

    def __init__(self, threads: int, longest_wait: float, observe: Callable[[float], object] | None = None) -> None:
        """Divide ``threads`` between both lanes. ``longest_wait`` is the seconds before a thread is free; ``observe``
        is called in the thread with the seconds that each piece of work took."""
        long = threads // 2
        self._short = _Lane("short-lane", threads - long, longest_wait, observe)
        self._long = _Lane("long-lane", long, longest_wait, observe) if long else self._short

    async def run(self, work: Callable[[], Result], *, short: bool) -> Result:
        """Return the result of ``work``, done in a thread. Raise ``Overloaded`` where no thread was free within the
        longest wait, or none is expected to be."""
        return await result_of(self.submit(work, short=short))

    def submit(self, work: Callable[[], Result], *, short: bool) -> Future[Result]:
        """Begin ``work`` in a thread, now or within the longest wait. The future is cancelled when no thread was free
        by then. Raises ``Overloaded`` where that is to be expected."""
        return (self._short if short else self._long).submit(work)

    def shutdown(self) -> None:
        """Begin nothing more, and wait for nothing."""
        for lane in {self._short, self._long}:
            lane.shutdown()


async def result_of(future: Future[Result]) -> Result:
    """Return the result of submitted work. Raise ``Overloaded`` where the work was not begun in time."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def tell(_: Future[Result]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(done.set)

    future.add_done_callback(tell)
    await done.wait()
    if future.cancelled():
        raise Overloaded
    return future.result()


class _Lane:
    def __init__(self, name: str, threads: int, longest_wait: float, observe: Callable[[float], object] | None) -> None:
        self._pool = ThreadPoolExecutor(threads, name)
        self._threads = threads
        self._longest_wait = longest_wait
        self._observe = observe
        self._unfinished = 0
        self._mean = 0.0
        self._newest = 0.0
        self._waited = 0.0  # seconds that the work begun last had to wait

    def submit(self, work: Callable[[], Result]) -> Future[Result]:
        waiting = self._unfinished - self._threads
        # One piece that took long, such as the first of its kind, must not have many short ones refused after it.
        behind = self._waited > self._longest_wait * _BEHIND
        expected = min(self._mean, self._newest)
        hopeless = waiting > FEW_WAITING and behind and waiting * expected > self._longest_wait * self._threads
        if waiting >= MOST_WAITING or hopeless:
            raise Overloaded
        loop = asyncio.get_running_loop()
        submitted = time.monotonic()
        trace = CURRENT.get()

        def timed() -> Result:
            began = time.monotonic()
            self._waited = began - submitted
            try:
                return work() if trace is None else traced_work(trace, work)
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

"""Writing views to the spool off the event loop, as a slow disk may hold up a write, but no other request.

What comes in while one write is under way goes into the next one together, so that a write is shared the sooner the
more views there are.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")


class ViewKeeping(Generic[T]):
    """A thread that is handed one view after the other, and the requests that wait for it."""

    def __init__(self, keep: Callable[[Sequence[T]], None]) -> None:
        """``keep`` writes views, deals itself with those it cannot write, and raises nothing."""
        self._keep = keep
        self._queue: SimpleQueue[tuple[T, asyncio.Future[None]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="keep-views", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Write what is waiting, and end."""
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()

    def put(self, view: T) -> asyncio.Future[None]:
        """What is done when the view is written, or cannot be. To be called on the event loop."""
        done = asyncio.get_running_loop().create_future()
        self._queue.put((view, done))
        return done

    def _run(self) -> None:
        more = True
        while more:
            waiting = [self._queue.get()]
            try:
                while True:
                    waiting.append(self._queue.get_nowait())
            except Empty:
                pass
            more = None not in waiting
            batch = [one for one in waiting if one is not None]
            if batch:
                self._keep([view for view, _ in batch])
                done = [future for _, future in batch]
                done[0].get_loop().call_soon_threadsafe(_finish, done)


def _finish(futures: Sequence[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():  # its request may have been given up
            future.set_result(None)

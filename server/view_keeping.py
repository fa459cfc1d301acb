"""Writing views to the spool off the event loop, as a slow disk may hold up a write, but no other request.

What comes in while one write is under way goes into the next one together, so that a write is shared the sooner the
more views there are.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from server.logs import LOGGER

T = TypeVar("T")

_log = logging.getLogger(LOGGER)


class ViewKeeping(Generic[T]):
    """A thread that is handed one view after the other, and the requests that wait for it."""

    def __init__(self, keep: Callable[[Sequence[T]], None]) -> None:
        """``keep`` writes views, deals itself with those it cannot write, and raises nothing."""
        self._keep = keep
        self._queue: SimpleQueue[tuple[T, Callable[[], None]] | None] = SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="keep-views", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Write what is waiting, and end."""
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()

    def put(self, view: T, done: Callable[[], None]) -> None:
        """Call ``done`` on the event loop, where this is to be called too, when the view is written, or cannot be."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        self._queue.put((view, done))

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
            if batch and self._loop is not None:
                self._keep([view for view, _ in batch])
                self._loop.call_soon_threadsafe(_call, [done for _, done in batch])


def _call(waiting: Sequence[Callable[[], None]]) -> None:
    for done in waiting:
        try:
            done()
        except Exception:  # the others wait, too
            _log.exception("a page view could not be answered")

"""Writing views to the spool off the event loop, as a slow disk may hold up a write, but no other request.

Views that come in shortly after one another share a write, and the change between threads with it, which costs more
than the write: the reads beside them would notice, and no page waits for the answer to its view.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from typing import Generic, TypeVar

from server.logs import LOGGER

T = TypeVar("T")

GATHER_SECONDS = 0.004
"""How long a view waits for others."""
MOST_GATHERED = 16
"""So many wait no longer."""

_log = logging.getLogger(LOGGER)


class ViewKeeping(Generic[T]):
    """A thread that is handed one view after the other, and the requests that wait for it."""

    def __init__(self, keep: Callable[[Sequence[T]], None]) -> None:
        """``keep`` writes views, deals itself with those it cannot write, and raises nothing."""
        self._keep = keep
        self._waiting: deque[tuple[T, Callable[[], None]]] = deque()
        self._wakes: SimpleQueue[bool] = SimpleQueue()
        """``False`` is the last."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="keep-views", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Write what is waiting, and end."""
        if self._thread.is_alive():
            self._wakes.put(False)
            self._thread.join()

    def put(self, view: T, done: Callable[[], None]) -> None:
        """Call ``done`` on the event loop, where this is to be called too, when the view is written, or cannot be."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        self._waiting.append((view, done))
        gathered = len(self._waiting)
        if gathered == 1:
            self._loop.call_later(GATHER_SECONDS, self._wakes.put, True)
        elif gathered == MOST_GATHERED:
            self._wakes.put(True)

    def _run(self) -> None:
        more = True
        while more:
            more = self._wakes.get()
            gathered = list(self._gathered())
            if gathered and self._loop is not None:
                self._keep([view for view, _ in gathered])
                self._loop.call_soon_threadsafe(_call, [done for _, done in gathered])

    def _gathered(self) -> Iterator[tuple[T, Callable[[], None]]]:
        # To the last one, as only the first after it is sure to wake us.
        while self._waiting:
            yield self._waiting.popleft()


def _call(waiting: Sequence[Callable[[], None]]) -> None:
    for done in waiting:
        try:
            done()
        except Exception:  # the others wait, too
            _log.exception("a page view could not be answered")

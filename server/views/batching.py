"""Batches of page views, written to the spool by a thread: a slow disk holds up the write, but no other request.

Views that come in shortly after one another share one write and one change between threads, which costs more than the
write. Reads beside them would notice that cost, while no page waits for the answer to its view. Checked one right after
the other, views also take half the time, since code and data are in the processor's caches.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Generic, TypeVar

from server.logs import LOGGER
from server.processes.standing_back import stand_back

R = TypeVar("R")
V = TypeVar("V")

GATHER_SECONDS = 0.004
"""Longest time that a view waits for others."""
MOST_GATHERED = 16
"""Views that are handed over together without waiting for more."""

_log = logging.getLogger(LOGGER)


class ViewKeeping(Generic[R, V]):
    """Gathers reported views, and has a thread write those that count."""

    def __init__(self, admit: Callable[[R], V | None], keep: Callable[[Sequence[V]], None]) -> None:
        """``admit`` returns the view that a report makes, or ``None`` where it does not count, within microseconds;
        ``keep`` writes views, and deals itself with those that cannot be written. Neither raises anything."""
        self._admit = admit
        self._keep = keep
        self._gathered: deque[tuple[R, Callable[[], None]]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._handed: SimpleQueue[list[tuple[V, Callable[[], None]]] | None] = SimpleQueue()
        """Batches for the thread; ``None`` ends it."""
        self._unanswered = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="keep-views", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Write the views that wait, and end the thread."""
        if self._thread.is_alive():
            self._handed.put(None)
            self._thread.join()

    def put(self, reported: R, done: Callable[[], None], senders: int | None = None) -> None:
        """Gather one report, and call ``done`` once its view is written, does not count, or cannot be written.

        To be called on the event loop, which is where ``done`` is called. ``senders`` is the number of clients that can
        send views one at a time: where all of them wait for an answer, the batch waits for no more.
        """
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        self._gathered.append((reported, done))
        self._unanswered += 1
        gathered = len(self._gathered)
        if gathered == MOST_GATHERED or (senders is not None and self._unanswered >= senders):
            if self._timer is not None:
                self._timer.cancel()
            self._hand_over()
        elif gathered == 1:
            self._timer = self._loop.call_later(GATHER_SECONDS, self._hand_over)

    def _hand_over(self) -> None:
        counted, rest = self._looked_at()
        if counted:
            self._handed.put(counted)
        self._answer(rest)

    def _looked_at(self) -> tuple[list[tuple[V, Callable[[], None]]], list[Callable[[], None]]]:
        """Take the gathered reports: return the views to be written, and the calls that wait for no write."""
        counted: list[tuple[V, Callable[[], None]]] = []
        rest: list[Callable[[], None]] = []
        while self._gathered:
            reported, done = self._gathered.popleft()
            view = self._admit(reported)
            if view is None:
                rest.append(done)
            else:
                counted.append((view, done))
        return counted, rest

    def _run(self) -> None:
        stand_back()
        more = True
        while more:
            handed = [self._handed.get()]
            while not self._handed.empty():
                handed.append(self._handed.get())
            more = None not in handed
            counted = [one for some in handed if some is not None for one in some]
            rest: list[Callable[[], None]] = []
            if not more:
                last, rest = self._looked_at()
                counted += last
            if counted:
                self._keep([view for view, _ in counted])
            waiting = [*(done for _, done in counted), *rest]
            if waiting and self._loop is not None:
                self._loop.call_soon_threadsafe(self._answer, waiting)

    def _answer(self, waiting: Sequence[Callable[[], None]]) -> None:
        self._unanswered -= len(waiting)
        for done in waiting:
            try:
                done()
            except Exception:  # the others wait, too
                _log.exception("a page view could not be answered")

"""Writing views to the spool off the event loop, as a slow disk may hold up a write, but no other request.

Views that come in shortly after one another are looked at together, and share a write and the change between threads
with it, which costs more than the write: the reads beside them would notice, and no page waits for the answer to its
view. One after the other at once, they are looked at in half the time, as what that takes is in the processor's caches.
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
from server.standing_back import stand_back

R = TypeVar("R")
V = TypeVar("V")

GATHER_SECONDS = 0.004
"""How long a view waits for others."""
MOST_GATHERED = 16
"""So many wait no longer."""

_log = logging.getLogger(LOGGER)


class ViewKeeping(Generic[R, V]):
    """Gathers what requests report, and has a thread write what of it counts."""

    def __init__(self, admit: Callable[[R], V | None], keep: Callable[[Sequence[V]], None]) -> None:
        """``admit`` makes a view of what was reported, or nothing, in microseconds; ``keep`` writes views, and deals
        itself with those it cannot write. Neither raises anything."""
        self._admit = admit
        self._keep = keep
        self._gathered: deque[tuple[R, Callable[[], None]]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._handed: SimpleQueue[list[tuple[V, Callable[[], None]]] | None] = SimpleQueue()
        """``None`` is the last."""
        self._unanswered = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="keep-views", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Write what is waiting, and end."""
        if self._thread.is_alive():
            self._handed.put(None)
            self._thread.join()

    def put(self, reported: R, done: Callable[[], None], senders: int | None = None) -> None:
        """Call ``done`` on the event loop, where this is to be called too, when the view is written, or does not count,
        or cannot be written. ``senders`` is how many there are that can send one: it waits for no others where all of
        them wait for an answer."""
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
        """What gathered: the views that are to be written, and who waits for nothing."""
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

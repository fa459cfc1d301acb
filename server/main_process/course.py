"""The course of one server process: what happens when it is ready, and when another one has taken over."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from typing import Final

from server.main_process.handed_sockets import HTTP, METRICS
from server.main_process.link import MainLink
from server.metrics_address import MetricsAddress
from server.states.states import States
from server.states.table import RELOAD, WORKER
from snapshots.version import VERSION

WORKERS: Final = "workers"
KEEPER: Final = "keeper"


class Course:
    """Tells the main process when the process is ready, and what belongs to the process when it is retired."""

    def __init__(self, link: MainLink | None, metrics: MetricsAddress | None, states: States) -> None:
        """``states`` takes note of a reload that fails."""
        self._states = states
        self._link = link
        self._metrics = metrics
        self._awaited = {WORKERS, KEEPER}
        self._changing = threading.Lock()

    def begin(self, retire: Sequence[Callable[[], None]], listener: socket.socket) -> None:
        """Begin to answer for metrics, unless another process does still, and to follow the main process: it keeps the
        sockets that it does not have, and all of ``retire`` are called once another process has taken over."""
        metrics, link = self._metrics, self._link
        if metrics is not None and (link is None or not link.replaces):
            metrics.begin()
        if link is None:
            return
        if link.follows_dead:
            self._states.wrong(WORKER)
        for name, one in ((HTTP, listener), (METRICS, None if metrics is None else metrics.listener)):
            if one is not None and name not in link.sockets:
                link.keep(name, one)

        def on_retired() -> None:
            if metrics is not None:
                metrics.end()
            self._states.well(RELOAD)
            for each in retire:
                each()

        link.listen(on_retired, lambda: self._states.wrong(RELOAD))

    def is_done(self, part: str) -> None:
        """Take note that a part is ready. May be called in any thread."""
        with self._changing:
            self._awaited.discard(part)
            if self._awaited or self._link is None:
                return
        if self._metrics is not None and self._link.replaces:
            self._metrics.begin()
        self._link.ready(VERSION)

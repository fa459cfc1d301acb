"""uvicorn's server with an end that loses no request: kept connections are told ``Connection: close`` first."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from types import FrameType
from typing import Final

from uvicorn import Config, Server
from uvicorn.server import ServerState

from server.http.protocol import DeliveryProtocol, DeliveryState

LOOK_SECONDS: Final = 0.1
IDLE_SECONDS: Final = 2.0
"""Seconds without a request after which a kept connection is closed at SIGTERM. A proxy that is in use asks again on
each that it keeps within that time, and learns that it is the last."""
RETIRED_SECONDS: Final = 600.0
"""Seconds that a retired process may take over its last answers, before it ends as at SIGTERM."""


class GracefulServer(Server):
    """The server of one process. It ends at SIGTERM within ``timeout_graceful_shutdown``, at SIGINT without waiting for
    kept connections, and when it is retired, which nobody waits for, once the last connection is closed."""

    def __init__(
        self, config: Config, on_ready: Callable[[], None] | None = None, on_ending: Callable[[], None] | None = None
    ) -> None:
        """``on_ready`` is called when requests are answered, ``on_ending`` when that begins to end."""
        super().__init__(config)
        self._state = DeliveryState()
        self.server_state: ServerState = self._state
        self._on_ready = on_ready
        self._on_ending = on_ending
        self._is_retired = False
        self._is_interrupted = False

    def retire(self) -> None:
        """Take no new connections any more. May be called in any thread."""
        self._is_retired = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._is_interrupted = self._is_interrupted or sig == signal.SIGINT
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._on_ready is not None:
            self._on_ready()

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or self._is_retired

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._on_ending is not None:
            self._on_ending()
        await asyncio.sleep(0)  # in which what waits on the listening socket is accepted
        for one in (*self.servers, *(sockets or ())):
            one.close()
        await self._close_kept_connections()
        await super().shutdown(sockets)

    async def _close_kept_connections(self) -> None:
        """Answer what comes on kept connections with ``Connection: close``, and close each that stays idle."""
        self._state.is_ending = True
        loop = asyncio.get_running_loop()
        began = loop.time()
        ended_at: float | None = None
        """When this process was told to end, and not just retired."""
        ticks = 0
        connections = [one for one in self.server_state.connections if isinstance(one, DeliveryProtocol)]
        for connection in connections:
            connection.close_after_answer()
        grace = self.config.timeout_graceful_shutdown or 0
        while connections and not self._is_interrupted:
            now = loop.time()
            if ended_at is None and (self.should_exit or now - began > RETIRED_SECONDS):
                ended_at = now
            if ended_at is not None:
                if now - ended_at > min(IDLE_SECONDS, grace):
                    break
                for connection in connections:
                    idle_since = connection.idle_since
                    if idle_since is not None and now - max(idle_since, began) >= IDLE_SECONDS:
                        connection.end()
            await asyncio.sleep(LOOK_SECONDS)
            ticks += 1
            await super().on_tick(ticks)  # which keeps the header `Date` right
            connections = [one for one in self.server_state.connections if isinstance(one, DeliveryProtocol)]
        if ended_at is not None:
            left = grace - (loop.time() - ended_at)
            self.config.timeout_graceful_shutdown = max(0, left)  # type: ignore[assignment]  # asyncio takes any number

"""The open connections of one process: no more than allowed, and each ended that sends or reads too slowly."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final, Protocol

SWEEP_SECONDS: Final = 1.0
READ_SECONDS: Final = 10.0
"""Seconds from a request's first byte, or the beginning of its connection, within which the request must be whole."""
WRITE_SECONDS: Final = 15.0
LEAST_READ: Final = 15 * 1024
"""Bytes of an answer that a client must take in ``WRITE_SECONDS``, or it is cut off."""
MOST_UNSENT: Final = 256 << 20
"""Bytes of answers that all clients together have not taken yet, from which on no more answers are made."""


class Connection(Protocol):
    """A connection as ``Connections`` needs it."""

    reading_since: float | None
    """The beginning of the request that is not whole yet, in the loop's seconds; ``None`` between requests."""

    @property
    def idle_since(self) -> float | None:
        """The instant since which the connection waits for a request or its rest; ``None`` while one is answered."""

    def unsent(self) -> int:
        """Return the bytes of answers that this process holds for the client."""

    def untaken(self) -> int:
        """Return the bytes of answers that the client has not taken yet, those that the kernel holds included."""

    def refuse_late(self) -> None:
        """End the connection, whose request takes too long to come."""

    def end(self) -> None:
        """End the connection without waiting, and lose the unsent bytes."""

    def cut(self) -> None:
        """End the connection at once, and lose every byte that the client has not taken."""


class Connections:
    """Counts connections, and ends those that stall. Used on the event loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: set[Connection] = set()
        self._marks: dict[Connection, tuple[float, int]] = {}
        self._unsent = 0
        self._sweeping: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._open)

    def start(self) -> None:
        self._sweeping = asyncio.get_running_loop().create_task(self._sweep_for_ever())

    async def stop(self) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
            with suppress(asyncio.CancelledError):
                await self._sweeping

    def admit(self, connection: Connection) -> bool:
        """Count a new connection, and return whether its requests may be answered.

        At the limit, the connection that has waited longest for its client to send is ended. Where all are being
        answered, the new one is refused (``False``), and is the first to be ended when the next one comes.
        """
        if len(self._open) >= self._most:
            waiting = [(other.idle_since, id(other), other) for other in self._open if other.idle_since is not None]
            if not waiting:
                self._open.add(connection)
                return False
            _, _, longest = min(waiting)
            self.forget(longest)
            longest.end()
        self._open.add(connection)
        return True

    def forget(self, connection: Connection) -> None:
        self._open.discard(connection)
        self._marks.pop(connection, None)

    def has_room(self) -> bool:
        """Whether more answers may be made: not so while too many bytes wait for clients that read slowly."""
        return self._unsent < MOST_UNSENT

    def sweep(self, now: float) -> None:
        """End every connection that has stalled by ``now``, in the loop's seconds."""
        unsent = 0
        for connection in tuple(self._open):
            if connection.reading_since is not None and now - connection.reading_since > READ_SECONDS:
                connection.refuse_late()
            elif size := connection.untaken():
                unsent += connection.unsent()
                since, before = self._marks.setdefault(connection, (now, size))
                if size > before or before - size >= LEAST_READ:
                    self._marks[connection] = (now, size)
                elif now - since > WRITE_SECONDS:
                    connection.cut()
            else:
                self._marks.pop(connection, None)
        self._unsent = unsent

    async def _sweep_for_ever(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            self.sweep(loop.time())

"""Tell what runs beside ``cms dev`` on this machine of each build that became current: server-sent events."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Final

import msgspec

from server.dev.changes import Change

QUIET_SECONDS: Final = 15.0
"""Seconds without an event after which a comment shows that the stream is alive."""
MOST_STREAMS: Final = 100
MOST_WAITING: Final = 100
"""Events that a stream may be behind before it is ended; who connects again hears the version."""
RETRY_MS: Final = 500
"""Milliseconds after which a client that lost its stream should connect again."""
PATH: Final = "/dev/events"

_NOTHING: Final = b": nothing new\n\n"
_encode = msgspec.json.Encoder().encode


class TooManyStreams(Exception):
    """Nobody has so many programs that listen; those that do are refused."""


class _Stream:
    """One listener, on the event loop that serves it."""

    def __init__(self) -> None:
        self.waiting: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()

    def put(self, event: bytes | None) -> None:
        """Hand over an event, or ``None`` for the end. To be called on any thread."""
        self._loop.call_soon_threadsafe(self.waiting.put_nowait, event)


class DevEvents:
    """The streams of all listeners. ``tell`` and ``close`` may be called on any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = Change()
        self._streams: set[_Stream] = set()
        self._closed = False

    def tell(self, change: Change) -> None:
        """Tell every listener of a version that became current."""
        with self._lock:
            self._last = change
            for stream in tuple(self._streams):
                behind = stream.waiting.qsize() >= MOST_WAITING
                stream.put(None if behind else _event("change", change))
                if behind:
                    self._streams.discard(stream)

    def close(self) -> None:
        """End every stream, and each that is opened later."""
        with self._lock:
            self._closed = True
            for stream in self._streams:
                stream.put(None)
            self._streams.clear()

    def opened(self) -> AsyncIterator[bytes]:
        """Return a new stream: the current version, then each change. To be called on the event loop.

        Raises ``TooManyStreams``.
        """
        with self._lock:
            if len(self._streams) >= MOST_STREAMS:
                raise TooManyStreams
            stream = _Stream()
            if self._closed:
                stream.put(None)
            else:
                self._streams.add(stream)
            hello = Change(self._last.workspace, self._last.version)
        return self._sent(stream, hello)

    async def _sent(self, stream: _Stream, hello: Change) -> AsyncIterator[bytes]:
        try:
            yield b"retry: %d\n%b" % (RETRY_MS, _event("hello", hello))
            while True:
                try:
                    event = await asyncio.wait_for(stream.waiting.get(), QUIET_SECONDS)
                except TimeoutError:
                    event = _NOTHING
                if event is None:
                    return
                yield event
        finally:
            with self._lock:
                self._streams.discard(stream)


def _event(name: str, data: Change) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), _encode(data))

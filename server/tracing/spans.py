"""Recorded spans on their way from the processes that answer to the keeper, which sends them: files in the cache.

A file has what a process recorded in half a second. Where nobody takes the files, few are kept.
"""

from __future__ import annotations

import itertools
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from server.tracing.trace_context import Work
from snapshots.store.store import Store

FOLDER: Final = ".traces"
"""The folder in the cache, whose other folders have the names of workspaces."""
MOST_FILES: Final = 64
"""Files that wait at most, of all processes of the machine; what would be another is dropped."""
MOST_SPANS: Final = 5_000
"""Spans of a file at most."""

SERVER: Final = "server"
"""The kind of a request to this server."""
CLIENT: Final = "client"
"""The kind of a request that this server makes: to a webhook's receiver."""


class Span(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A recorded request."""

    kind: str
    trace_id: str
    span_id: str
    parent_id: str | None
    begun: int
    """UTC nanoseconds."""
    ended: int
    method: str
    status: int | None
    """``None`` or 0 where there was no answer."""
    failure: str | None
    """Why it counts as failed."""
    workspace: str | None
    path: str | None = None
    size: int | None = None
    """Bytes of the answer's body."""
    request: str | None = None
    key: str | None = None
    """The prefix of the key."""
    snapshot: str | None = None
    answer: str | None = None
    """The source of the answer, as ``Metrics.answer`` names sources."""
    host: str | None = None
    """Who was asked, where this server asked."""
    port: int | None = None
    work: tuple[Work, ...] = ()


class SpanFiles:
    """The files of one machine's spans, as one process writes or takes them."""

    def __init__(self, store: Store) -> None:
        self._folder = store.cache / FOLDER
        self._numbers = itertools.count()
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder = msgspec.msgpack.Decoder(list[Span])

    def write(self, spans: list[Span]) -> bool:
        """Write a file; return whether there was room for it, and a disk that took it."""
        name = f"{os.getpid()}-{next(self._numbers)}"
        try:
            self._folder.mkdir(exist_ok=True)
            if sum(1 for entry in os.scandir(self._folder) if not entry.name.startswith(".")) >= MOST_FILES:
                return False
        except OSError:
            return False
        unfinished = self._folder / f".{name}"
        try:
            unfinished.write_bytes(self._encoder.encode(spans))
            unfinished.replace(self._folder / name)
        except OSError:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
            return False
        return True

    def take(self) -> list[Span]:
        """Return the spans of the oldest file and delete it; none where there is no file. Damaged ones are dropped."""
        try:
            waiting = [entry for entry in os.scandir(self._folder) if not entry.name.startswith(".")]
            oldest = min(waiting, key=lambda entry: entry.stat().st_mtime_ns, default=None)
            if oldest is None:
                return []
            file = Path(oldest.path)
            content = file.read_bytes()
            file.unlink()
        except OSError:  # there is no folder yet, or somebody deletes the cache
            return []
        with suppress(msgspec.MsgspecError):
            return self._decoder.decode(content)
        return []

"""Send the spool of this machine to a bucket in segments: each view is in one of them, whatever is killed on the way.

``views/sending.json`` says which segments of the spool the next object consists of, before it is sent: so one whose
answer was lost is sent again as it was. The order is: claim, send, note that it was sent, remove from the spool.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from engine.views.collecting.spool import SPOOL, has_sealed, lines_of, workers
from engine.views.counting.folding import next_batch
from engine.views.gathering.layout import closed_key, segment_key
from engine.views.gathering.spooled import SpooledSegments, adopt, remove_held, writer_lock
from snapshots.store.durable import replace_durably, writing
from snapshots.store.objects import Conflict, Objects
from snapshots.times import format_datetime

FILE: Final = "sending.json"
SEND_SECONDS: Final = 7.0
"""Seconds between two objects. With a second for sealing and one for the round, and the sending itself, no more than
ten seconds of views are on this machine alone."""
MOST_VIEWS: Final = 10_000
"""Views in one object, about."""


class Sending(msgspec.Struct, frozen=True):
    """The object that is being sent, or was sent last."""

    sender: str
    number: int
    after: dict[str, int]
    """By worker, the last of its segments that was sent before."""
    through: dict[str, int]
    """By worker, the last of its segments that is in this object."""
    sent: bool


# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decode: Final = msgspec.json.Decoder(Sending).decode


class ViewSending:
    """Sends the views of one workspace from this machine. Only one process of a machine sends at a time."""

    def __init__(self, views: Path, workspace: str, objects: Objects) -> None:
        self.views = views
        self.workspace = workspace
        self._objects = objects
        self._sender: str | None = None
        """The name under which this process sends."""
        self._sent_at = float("-inf")
        self.has_failed = False
        """Whether the views that wait could not be sent the last time."""

    def round(self, now: int, moment: float, *, wait: float = 0.0, flush: bool = False) -> int | None:
        """Send the sealed segments if ``SEND_SECONDS`` have passed since the last time, or ``flush`` says so.

        Returns the number of views sent, ``None`` when another process of this machine sends. ``now`` is UTC
        milliseconds, ``moment`` seconds of ``time.monotonic``, ``wait`` the seconds to wait for the other process.
        Raises ``StoreError`` when the disk or the bucket refuses: the views wait in the spool.
        """
        if not flush and moment < self._sent_at + SEND_SECONDS:
            return 0
        try:
            sent = self._attempt(now, moment, wait)
        except Exception:
            self.has_failed = True
            raise
        self.has_failed = False
        return sent

    def _attempt(self, now: int, moment: float, wait: float) -> int | None:
        with writer_lock(self.views, wait=wait) as ours:
            if not ours:
                return None
            with writing(self.views / SPOOL):
                dead = adopt(self.views)
                if not any(has_sealed(self.views, worker) for worker in workers(self.views)):
                    remove_held(self.views, dead, {})
                    return 0
                self._sent_at = moment
                return self._send_all(dead, now)

    def close(self) -> None:
        """Tell the bucket that this process sends no more, once everything was sent. Raises ``StoreError``."""
        last = self._read()
        if last is not None and last.sent and last.sender == self._sender:
            self._objects.create(closed_key(self.workspace, last.sender), b"")
            self._sender = None

    def _send_all(self, dead: list[str], now: int) -> int:
        segments = SpooledSegments(self.views)
        last = self._read()
        sent = 0
        while True:
            if last is not None and not last.sent:
                sent += self._send(segments, last)
                last = self._save(msgspec.structs.replace(last, sent=True))
            if last is not None:
                remove_held(self.views, dead, last.through)
            if last is None or last.sender != self._sender:
                last = self._begun(last, now)
            after = segments.present(last.through)
            batch = next_batch(segments, after, most=MOST_VIEWS)
            if not batch.through:
                return sent
            last = self._save(Sending(last.sender, last.number + 1, after, after | dict(batch.through), sent=False))

    def _send(self, segments: SpooledSegments, claimed: Sending) -> int:
        views = next_batch(segments, claimed.after, claimed.through).views
        # One that is there with another content is this one: the writer counted some of its keys together.
        with suppress(Conflict):
            self._objects.create(segment_key(self.workspace, claimed.sender, claimed.number), lines_of(views))
        return len(views)

    def _begun(self, last: Sending | None, now: int) -> Sending:
        """Take a name that nobody has had. A copy of this machine's disk takes another, so the two never mix."""
        if last is not None and last.number:
            self._objects.create(closed_key(self.workspace, last.sender), b"")
        moment = format_datetime(now).translate({ord(c): None for c in "-:."})
        self._sender = f"{moment}-{secrets.token_hex(8)}"
        through: Mapping[str, int] = {} if last is None else last.through
        return self._save(Sending(self._sender, 0, dict(through), dict(through), sent=True))

    def _read(self) -> Sending | None:
        try:
            return _decode((self.views / FILE).read_bytes())
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, UnicodeDecodeError):
            # Nothing else says what was sent, and a view that counts twice is better than one that never does.
            (self.views / FILE).rename(self.views / f"{FILE}.damaged-{os.getpid()}")
            return None

    def _save(self, sending: Sending) -> Sending:
        replace_durably(self.views / FILE, msgspec.json.encode(sending) + b"\n")
        return sending

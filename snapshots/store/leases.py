"""A lease: an object in a store that says which of several machines does a work, and until when.

It spares work and makes nothing correct, since clocks differ and a holder may be paused for longer than it holds.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from typing import Final

import msgspec

from snapshots.store.objects import Conflict, MissingObject, Objects


class Lease:
    """One holder's part in a lease. One thread at a time uses it."""

    def __init__(self, objects: Objects, key: str, holder: str, ttl: int) -> None:
        """``ttl`` is how many milliseconds the lease holds, unless it is renewed; for all holders the same."""
        self._objects = objects
        self._key = key
        self._holder = holder
        self._ttl = ttl
        self._tag: str | None = None
        """The tag of the document that this holder wrote last: until another replaces it, renewing takes no read."""
        self._seen: tuple[str, int] | None = None
        """The write ID of another holder's document, and since when it has been there as far as is known here."""
        self.ask_at = 0
        """When a process without the lease should ask for it again, UTC milliseconds."""

    def take(self, now: int) -> bool:
        """Take or renew the lease, from ``now`` (UTC milliseconds); return whether this holder has it then.

        Somebody else has it until it ends by this machine's clock, or until it was not renewed for as long as it
        holds: a holder whose clock is ahead cannot keep it when it is gone. Raises ``StoreError``.
        """
        return self._put(now, now + self._ttl)

    def give_back(self, now: int) -> None:
        """Let another holder take it at once, whatever the clocks. Raises ``StoreError``."""
        self._put(now, 0)

    def _put(self, now: int, until: int) -> bool:
        tag, self._tag = self._tag, None  # until it is known
        if tag is not None:
            with suppress(Conflict, MissingObject):
                mine = self._document(until, secrets.token_urlsafe(8))
                self._tag = self._objects.replace(self._key, mine, tag)
                return True

        def change(data: bytes | None, write: str) -> tuple[bytes | None, _Anothers | None]:
            anothers = self._anothers(data, now)
            return (None if anothers is not None else self._document(until, write)), anothers

        edited = self._objects.edit(self._key, change)
        if edited.result is not None:
            self._seen, self.ask_at = (edited.result.write, edited.result.since), edited.result.ask_at
            return False
        assert edited.content is not None  # it was taken
        self._tag = edited.content.tag
        return True

    def _anothers(self, data: bytes | None, now: int) -> _Anothers | None:
        """Return the facts known about another holder's lease, ``None`` where nobody else has it."""
        held = _NOBODYS if data is None else _decode(data)
        if held.holder == self._holder or held.until <= now:
            return None
        since = now
        if self._seen is not None and self._seen[0] == held.write and self._seen[1] <= now:  # else a clock was set back
            since = self._seen[1]
        end = since + self._ttl
        return _Anothers(held.write, since, min(held.until, end)) if now < end else None

    def _document(self, until: int, write: str) -> bytes:
        return msgspec.json.encode(_Stored(self._holder, until, write)) + b"\n"


class _Anothers(msgspec.Struct, frozen=True):
    write: str
    since: int
    """Since when it has been there as far as is known here, UTC milliseconds."""
    ask_at: int


class _Stored(msgspec.Struct, frozen=True):
    holder: str
    until: int
    """UTC milliseconds by the clock of the holder."""
    write: str


# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decoder: Final = msgspec.json.Decoder(_Stored)
_NOBODYS: Final = _Stored("", 0, "")


def _decode(data: bytes) -> _Stored:
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _NOBODYS  # a lease that nobody can read is nobody's

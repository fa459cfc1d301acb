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
        """That of the document which this holder wrote last: as long as nobody replaced it, renewing takes no read."""
        self._seen: tuple[str, int] | None = None
        """The write ID of another holder's document, and since when it has been there as far as is known here."""
        self.ask_at = 0
        """When whoever does not have it should ask again, UTC milliseconds."""

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

        def change(data: bytes | None, write: str) -> bytes | None:
            return None if self._is_anothers(data, now) else self._document(until, write)

        found = self._objects.edit(self._key, change)
        assert found is not None  # noqa: S101 - it is left as it is where there is another holder's
        if _decode(found.data).holder != self._holder:
            return False
        self._tag = found.tag
        return True

    def _is_anothers(self, data: bytes | None, now: int) -> bool:
        """Return whether another holder has it, and note when to ask again."""
        held = _NOBODYS if data is None else _decode(data)
        if held.holder == self._holder or held.until <= now:
            return False
        if self._seen is None or self._seen[0] != held.write or now < self._seen[1]:  # else the clock was set back
            self._seen = held.write, now
        end = self._seen[1] + self._ttl
        self.ask_at = min(held.until, end)
        return now < end

    def _document(self, until: int, write: str) -> bytes:
        return msgspec.json.encode(_Stored(self._holder, until, write)) + b"\n"


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

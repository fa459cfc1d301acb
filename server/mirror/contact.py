"""What a machine last knew of the store: written by the processes that follow it, read by those that answer.

One page of fixed size for each, written over in place: on a full disk too, it can still be told how old the contact is,
and a process that hangs or cannot write is known by the age of its page.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from snapshots.store.durable import allocate

CONTACT: Final = ".contact"
"""The name of the page in the mirror's directory that the process writes which mirrors."""
VIEWS_CONTACT: Final = ".views-contact"
"""That of the process which sends page views and pulls their counts."""
WEBHOOKS_CONTACT: Final = ".webhooks-contact"
"""That of the process which sends webhooks, if this is the machine that does."""
PAGE: Final = 1 << 16
READ_SECONDS: Final = 0.25
"""Seconds for which what was read of the page holds."""
_MOST_TOLD: Final = 100
"""Workspaces whose refused versions stand in the page."""


class RefusedVersion(msgspec.Struct, frozen=True):
    """A version that is current in the store and cannot be had whole."""

    version: str
    retry_at: int
    """When it is tried again, UTC milliseconds."""


class Contact(msgspec.Struct, frozen=True):
    """The state of a mirror; of another process, with what it is behind, if it is."""

    at: int | None = None
    """When the store last answered, UTC milliseconds; ``None`` if it never did."""
    complete: bool = False
    """Whether the keys of all workspaces have been mirrored once, be it in an earlier run."""
    reachable: bool = False
    """Whether the store answered the last time it was asked."""
    hint: str | None = None
    """What stands for the newest announced change in the store; ``None`` before there was one."""
    refused: dict[str, RefusedVersion] = {}
    """By workspace."""
    behind: dict[str, dict[str, int]] = {}
    """By workspace, what is older than in the store for more than two polls, and since when, UTC milliseconds."""
    unable: tuple[str, ...] = ()
    """The workspaces that this machine cannot follow, as on a disk that takes nothing."""
    written_at: int | None = None
    """When the process last went on, UTC milliseconds; ``None`` in a page of before that was noted."""

    def age(self, now: int) -> float | None:
        """Return the seconds since the store last answered, ``None`` if it never did."""
        return None if self.at is None else max(0, now - self.at) / 1000


# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decoder: Final = msgspec.json.Decoder(Contact)


class ContactPage:
    """A page in a mirror's directory. One process writes it, any number read it."""

    def __init__(self, root: Path, name: str = CONTACT) -> None:
        self._path = root / name
        self._known = Contact()
        self._read_at = float("-inf")

    def read(self) -> Contact:
        """Return the state as it was a quarter of a second ago at the earliest. A page that is torn, because it is
        being written, is read again the next time."""
        now = time.monotonic()
        if now - self._read_at >= READ_SECONDS:
            self._read_at = now
            with suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
                self._known = _decoder.decode(self._path.read_bytes())
        return self._known

    def write(self, contact: Contact) -> None:
        """Make ``contact`` the state. Raises ``OSError``."""
        told = dict(sorted(contact.refused.items())[:_MOST_TOLD])
        behind = dict(sorted(contact.behind.items())[:_MOST_TOLD])
        contact = msgspec.structs.replace(contact, refused=told, behind=behind, unable=contact.unable[:_MOST_TOLD])
        data = msgspec.json.encode(contact).ljust(PAGE)
        page = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o660)
        try:
            if os.fstat(page).st_size != PAGE:
                os.ftruncate(page, 0)
                allocate(page, 0, PAGE)
            os.pwrite(page, data, 0)
        finally:
            os.close(page)

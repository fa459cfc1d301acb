"""Pages with a machine's last contact with the store: processes that follow the store write them, servers read them.

Each process has a page of fixed size that it overwrites in place: so the age of the contact is known on a full disk
too, and a process that hangs or cannot write is known by the age of its page.
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
"""The name, in the mirror's directory, of the page written by the process that mirrors the store."""
VIEWS_CONTACT: Final = ".views-contact"
"""The name of the page written by the process that sends page views and pulls their counts."""
WEBHOOKS_CONTACT: Final = ".webhooks-contact"
"""The name of the page written by the process that sends webhooks, if this machine sends them."""
PAGE: Final = 1 << 16
READ_SECONDS: Final = 0.25
"""Seconds for which a page is not read again."""
_MOST_TOLD: Final = 100
"""Workspaces whose refused versions stand in the page."""


class RefusedVersion(msgspec.Struct, frozen=True):
    """A version that is current in the store and cannot be downloaded whole."""

    version: str
    retry_at: int
    """When it is tried again, UTC milliseconds."""


class Contact(msgspec.Struct, frozen=True):
    """The state of a mirror, or the state of another process and the parts of workspaces that it is behind with."""

    at: int | None = None
    """When the store last answered, UTC milliseconds; ``None`` if it never did."""
    complete: bool = False
    """Whether the keys of all workspaces have been mirrored once, be it in an earlier run."""
    reachable: bool = False
    """Whether the store answered the last time it was asked."""
    hint: str | None = None
    """The identifier of the newest announced change in the store; ``None`` before the first."""
    refused: dict[str, RefusedVersion] = {}
    """By workspace."""
    behind: dict[str, dict[str, int]] = {}
    """By workspace, the parts that have been older than the store's for more than two polls, and since when (UTC
    milliseconds)."""
    unable: tuple[str, ...] = ()
    """The workspaces that this machine cannot follow, as on a disk that takes nothing."""
    written_at: int | None = None
    """When the process last went on, UTC milliseconds; ``None`` in a page written by a version that did not note it."""

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

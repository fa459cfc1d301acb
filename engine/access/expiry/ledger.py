"""The ledger of expiry e-mails: a file beside the keys that is changed before and after each mail.

    <store>/<workspace>/expiry_mails.json          mode 0600: it holds addresses
    <store>/<workspace>/expiry_mails.lease.json    in a bucket: the machine that sends, so that no other one begins

A mail stands in the ledger before the mail server gets it, so that a full disk stops the sending and never leads to a
second mail; and it is marked as sent, on the disk or in the bucket, as soon as the server has accepted it. Only a
process that dies between these two sends a mail twice, and then under the same Message-ID. Two machines that send at
once, since one was held up for longer than its lease, meet in the ledger before a mail goes out twice.
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, date
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from snapshots.store.document import Document, JsonCodec
from snapshots.store.durable import StoreError, locked, make_directory, writing
from snapshots.store.leases import Lease
from snapshots.store.store import WorkspaceStore
from snapshots.times import format_datetime, parse_datetime

LEDGER = "expiry_mails.json"
LEASE = "expiry_mails.lease.json"
LEASE_MS = 600_000
"""Milliseconds for which a machine may send without a sign of life; each mail renews them."""
FORMAT = 2
"""The newest form of the ledger this program writes; it refuses newer ones. The second has the ids of the last changes,
which a bucket needs. A directory gets the first, which programs read that know no buckets."""

_LOCK_SECONDS = 10.0


class RoundUnderWay(StoreError):
    """Another process or machine sends the expiry e-mails of the workspace just now."""


class MailId(msgspec.Struct, frozen=True):
    """One mail: to one person, about one expiry date of one key. Each is sent once."""

    key: str
    """The key's ID."""
    until: date
    address: str
    """In lower case."""


class MailRecord(msgspec.Struct, frozen=True):
    """The state of one mail: sent, or how often it was tried."""

    attempts: int
    last_attempt: int
    """UTC milliseconds."""
    sent_at: int | None = None
    """UTC milliseconds; ``None`` until the mail server has accepted it."""
    refusal: str | None = None
    """The reason why the last attempt failed; ``None`` where its process died during it."""


Ledger = dict[MailId, MailRecord]


class _Stored(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    key: str
    until: date
    address: str
    attempts: int
    last_attempt_at: str
    sent_at: str | None
    refusal: str | None


class _StoredLedger(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    format: int
    mails: list[_Stored]
    writes: tuple[str, ...] = ()


class LedgerFile:
    """The ledger of one workspace in a store."""

    def __init__(self, workspace: WorkspaceStore | Path) -> None:
        """``workspace`` is its part of a store, or the directory that is that part."""
        if isinstance(workspace, Path):
            workspace = WorkspaceStore(workspace.name, workspace)
        self.workspace_store = workspace
        self._document: Document[Ledger] = Document(
            workspace.objects, f"{workspace.id}/{LEDGER}", _CODEC, {}, private=True
        )
        holder = f"{socket.gethostname()}-{secrets.token_hex(8)}"
        self._lease = Lease(workspace.objects, f"{workspace.id}/{LEASE}", holder, LEASE_MS)

    def read(self) -> Ledger:
        """The ledger as it is now, empty before the first mail. Raises as ``Document.read``."""
        return self._document.read()

    @contextmanager
    def opened(self, now: int) -> Iterator[OpenLedger]:
        """The ledger for one round of sending, which no other process or machine can enter meanwhile. ``now`` is UTC
        milliseconds.

        Raises ``RoundUnderWay``, ``DamagedDocument``, and ``StoreError`` when the file cannot be written.
        """
        directory = self.workspace_store.directory
        with writing(directory):
            make_directory(directory)
            with locked(directory / "expiry_mails.lock", seconds=_LOCK_SECONDS):
                self.hold(now)
                try:
                    yield OpenLedger(self, self.read())
                finally:
                    if self.workspace_store.bucket is not None:
                        with suppress(StoreError):  # it ends by itself
                            self._lease.give_back(now)

    def hold(self, now: int) -> None:
        """Go on being the one machine that sends, from ``now``. Raises ``RoundUnderWay`` and ``StoreError``."""
        if self.workspace_store.bucket is None:
            return
        if not self._lease.take(now):
            raise RoundUnderWay(
                f"{self.workspace_store.objects.location}/{self.workspace_store.id}/{LEDGER}: another machine sends "
                "the expiry e-mails just now."
            )

    def change(self, changed: Callable[[Ledger], Ledger]) -> Ledger:
        """Put what ``changed`` makes of the newest ledger in its place; return that. Raises what ``changed`` raises,
        and as ``Document.edit``."""

        def both(before: Ledger, _: str) -> tuple[Ledger, Ledger]:
            after = changed(before)
            return after, after

        return self._document.edit(both)


class OpenLedger:
    """The ledger as the one process that sends changes it. Every change is in the store before its method returns."""

    def __init__(self, file: LedgerFile, mails: Ledger) -> None:
        self._file = file
        self.mails = mails

    def attempt(self, mail: MailId, now: int) -> None:
        """Note that a mail is about to be handed over. Raises ``StoreError`` when the note cannot be written, and
        ``RoundUnderWay`` where another machine has the mail in hand."""
        self._file.hold(now)
        known = self.mails.get(mail)

        def attempted(mails: Ledger) -> Ledger:
            if mails.get(mail) != known:
                raise RoundUnderWay(f"The e-mail to {mail.address} is being sent by another machine just now.")
            return {**mails, mail: MailRecord(1 if known is None else known.attempts + 1, now)}

        self.mails = self._file.change(attempted)

    def sent(self, mail: MailId, now: int) -> None:
        """Note that the mail server has accepted the mail."""
        known = self.mails[mail]
        self.mails = self._file.change(lambda mails: {**mails, mail: replace(mails.get(mail, known), sent_at=now)})

    def refused(self, mails: list[MailId], refusal: str, now: int) -> None:
        """Note that these mails did not get through; they stay due."""

        def noted(before: Ledger) -> Ledger:
            return before | {mail: replace(before.get(mail) or MailRecord(0, now), refusal=refusal) for mail in mails}

        self.mails = self._file.change(noted)

    def forget(self, mails: list[MailId]) -> None:
        """Drop mails about dates that are long past."""
        if mails:
            self.mails = self._file.change(
                lambda before: {mail: record for mail, record in before.items() if mail not in mails}
            )


def _loaded(stored: _StoredLedger) -> Ledger:
    return {
        MailId(one.key, one.until, one.address): MailRecord(
            one.attempts,
            parse_datetime(one.last_attempt_at, UTC),
            None if one.sent_at is None else parse_datetime(one.sent_at, UTC),
            one.refusal,
        )
        for one in stored.mails
    }


def _stored(mails: Ledger) -> _StoredLedger:
    stored = [
        _Stored(
            mail.key,
            mail.until,
            mail.address,
            record.attempts,
            format_datetime(record.last_attempt),
            None if record.sent_at is None else format_datetime(record.sent_at),
            record.refusal,
        )
        for mail, record in mails.items()
    ]
    return _StoredLedger(FORMAT, stored)


_CODEC: Final = JsonCodec(
    _StoredLedger,
    _loaded,
    _stored,
    repair="No expiry e-mail is sent until it is repaired. Without the file, those that are due now are sent again.",
    newest=FORMAT,
    without_writes=1,
    for_people=True,
)

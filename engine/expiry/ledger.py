"""The ledger of expiry e-mails: a file beside the keys that is changed before and after each mail.

    <store>/<workspace>/expiry_mails.json      mode 0600: it holds addresses

A mail stands in the ledger before the mail server gets it, so that a full disk stops the sending and never leads to a
second mail; and it is marked as sent, on the disk, as soon as the server has accepted it. Only a process that
dies between these two sends a mail twice, and then under the same Message-ID.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from snapshots.problems import ParquetryError
from snapshots.store.durable import locked, reading, remove_leftovers, replace_durably, writing
from snapshots.times import format_datetime, parse_datetime

LEDGER = "expiry_mails.json"
FORMAT = 1

_LOCK_SECONDS = 10.0


class LedgerError(ParquetryError):
    """The file of sent e-mails is damaged: sending without it could send everything twice."""


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


class _StoredLedger(msgspec.Struct, forbid_unknown_fields=True):
    format: int
    mails: list[_Stored]


# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decode: Final = msgspec.json.Decoder(_StoredLedger).decode


class LedgerFile:
    """The ledger of one workspace in a store."""

    def __init__(self, workspace_directory: Path) -> None:
        self.path = workspace_directory / LEDGER
        self._lock = workspace_directory / "expiry_mails.lock"

    def read(self) -> Ledger:
        """The ledger as it is on disk now, empty before the first mail. Raises ``LedgerError`` or ``StoreError``."""
        with reading(self.path):
            try:
                data = self.path.read_bytes()
            except FileNotFoundError:
                return {}
        try:
            stored = _decode(data)
            if stored.format > FORMAT:
                raise LedgerError(f"{self.path}: written by a newer version of this program. Upgrade parquetry here.")
            return {
                MailId(one.key, one.until, one.address): MailRecord(
                    one.attempts,
                    parse_datetime(one.last_attempt_at, UTC),
                    None if one.sent_at is None else parse_datetime(one.sent_at, UTC),
                    one.refusal,
                )
                for one in stored.mails
            }
        except (msgspec.DecodeError, ValueError) as error:
            raise LedgerError(
                f"{self.path}: damaged: {error}. No expiry e-mail is sent until it is repaired. Without the file, "
                "those that are due now are sent again."
            ) from None

    @contextmanager
    def opened(self) -> Iterator[OpenLedger]:
        """The ledger for one round of sending, which no other process can enter meanwhile.

        Raises ``LedgerError``, and ``StoreError`` while another round goes on or when the file cannot be written.
        """
        with writing(self.path), locked(self._lock, seconds=_LOCK_SECONDS):
            remove_leftovers(self.path)
            yield OpenLedger(self.path, self.read())


class OpenLedger:
    """The ledger as the one process that sends changes it. Every change is on the disk before its method returns."""

    def __init__(self, path: Path, mails: Ledger) -> None:
        self._path = path
        self.mails = mails

    def attempt(self, mail: MailId, now: int) -> None:
        """Note that a mail is about to be handed over. Raises ``StoreError`` when the note cannot be written."""
        record = self.mails.get(mail) or MailRecord(0, now)
        self._write({**self.mails, mail: MailRecord(record.attempts + 1, now)})

    def sent(self, mail: MailId, now: int) -> None:
        """Note that the mail server has accepted the mail."""
        self._write({**self.mails, mail: replace(self.mails[mail], sent_at=now)})

    def refused(self, mails: list[MailId], refusal: str, now: int) -> None:
        """Note that these mails did not get through; they stay due."""
        failed = {mail: replace(self.mails.get(mail) or MailRecord(0, now), refusal=refusal) for mail in mails}
        self._write({**self.mails, **failed})

    def forget(self, mails: list[MailId]) -> None:
        """Drop mails about dates that are long past."""
        if mails:
            self._write({mail: record for mail, record in self.mails.items() if mail not in mails})

    def _write(self, mails: Ledger) -> None:
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
        data = msgspec.json.format(msgspec.json.encode(_StoredLedger(FORMAT, stored)), indent=1) + b"\n"
        with writing(self._path):
            replace_durably(self._path, data, mode=0o600)
        self.mails = mails

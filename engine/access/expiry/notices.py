"""Expiry e-mails (contract 6): one to every owner and maintainer for each key that is about to expire.

A mail is due from 0:00 of the seventh day before the key's last day, in the workspace's time zone, and stays due
until that last day is over: the next round makes up for a missed one. None is due for a key that
was created seven days or less before its last day (contract 6.3). A new last day is a new occasion (6.4); other
edits of the key are none. The mails about a disabled key are sent when it is enabled again, and people who become
owners or maintainers meanwhile get one too.

A mail that was tried and refused stays due for a week after the last day, and then says that the key has expired.
After that it is given up, and that is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, timedelta
from zoneinfo import ZoneInfo

import msgspec

from engine.access.expiry.ledger import Ledger, LedgerFile, MailId, MailRecord, OpenLedger
from engine.access.expiry.letter import expiry_letter
from engine.access.keys.access import AccessFile
from engine.access.keys.keys import EXPIRING_DAYS, Key, local_date
from engine.mail.mailer import Mailer, MailRefused, MailServerError
from snapshots.model import Member, Workspace
from snapshots.store.store import WorkspaceStore

NOTICE = timedelta(days=EXPIRING_DAYS)
"""Days before a key's last day at which its mail is due (contract 6.1 and 8)."""
PATIENCE = timedelta(days=7)
"""The time after the last day in which a refused mail is still tried."""
RECIPIENTS = frozenset({"owner", "maintainer"})


class DueMail(msgspec.Struct, frozen=True):
    """One mail that is to be sent now."""

    key: Key
    until: date
    member: Member

    @property
    def id(self) -> MailId:
        return MailId(self.key.id, self.until, self.member.email.lower())


class Round(msgspec.Struct, frozen=True):
    """The outcome of one round of sending."""

    sent: tuple[DueMail, ...]
    refused: tuple[tuple[DueMail, str], ...]
    """Mails that did not get through, with the reason; they are due again at the next round."""
    given_up: tuple[tuple[MailId, MailRecord], ...]
    """Mails that never got through and are too late now; they are reported this once."""
    unheard: tuple[Key, ...]
    """Keys that expire in a workspace where nobody is to be told."""
    failure: MailServerError | MailRefused | None = None
    """The last reason for which a mail did not get through."""


def due_mails(workspace: Workspace, keys: Iterable[Key], ledger: Ledger, now: int) -> list[DueMail]:
    """The mails that are due at ``now`` (UTC milliseconds) and were not accepted by a mail server yet."""
    people = _recipients(workspace)
    return [
        mail
        for key, until in _expiring(workspace, keys, now, PATIENCE)
        for member in people
        if _is_due(mail := DueMail(key, until, member), ledger.get(mail.id), local_date(now, _zone(workspace)))
    ]


def may_be_due(workspace: Workspace, keys: Iterable[Key], now: int) -> bool:
    """Return whether a mail about one of the keys can be due at ``now`` (UTC milliseconds), or given up: where not, the
    ledger need not be asked."""
    return bool(_expiring(workspace, keys, now, PATIENCE + timedelta(days=1)))


def send_due_mails(workspace: Workspace, file: LedgerFile, mailer: Mailer, now: int, clock: Callable[[], int]) -> Round:
    """Send every mail that is due, one after the other, and note the outcome of each before the next.

    ``file`` is the workspace's ledger; mails are due as of ``now``, and ``clock`` tells when each was sent (UTC
    milliseconds). A mail that is refused does not keep the others from being
    sent; a mail server that cannot be used ends the round. Raises ``DamagedDocument``,
    ``RoundUnderWay``, or ``StoreError`` when the ledger cannot be written.
    """
    keys, ledger_now = _keys(file.workspace_store), file.read()
    unheard = _unheard(workspace, keys, now)
    if not due_mails(workspace, keys, ledger_now, now) and not _too_late(workspace, ledger_now, now):
        return Round((), (), (), unheard)
    with file.opened(clock()) as ledger:
        keys = _keys(file.workspace_store)
        due = due_mails(workspace, keys, ledger.mails, now)
        given_up = _given_up(workspace, keys, ledger.mails, now)
        ledger.forget(_too_late(workspace, ledger.mails, now))
        sent: list[DueMail] = []
        refused: list[tuple[DueMail, str]] = []
        failure: MailServerError | MailRefused | None = None
        for position, mail in enumerate(due):
            try:
                _send(workspace, mail, mailer, ledger, now, clock)
                sent.append(mail)
            except MailServerError as error:
                failure = error
                rest = due[position:]
                ledger.refused([one.id for one in rest], str(error), clock())
                refused += [(one, str(error)) for one in rest]
                break
            except MailRefused as error:
                failure = error
                ledger.refused([mail.id], str(error), clock())
                refused.append((mail, str(error)))
    return Round(tuple(sent), tuple(refused), given_up, unheard, failure)


def _send(
    workspace: Workspace, mail: DueMail, mailer: Mailer, ledger: OpenLedger, now: int, clock: Callable[[], int]
) -> None:
    today = local_date(now, _zone(workspace))
    try:
        letter = expiry_letter(workspace, mail.key, mail.until, mail.member, today, mailer.server.sender, clock())
    except ValueError as error:
        raise MailRefused(str(error)) from None
    ledger.attempt(mail.id, clock())
    mailer.send(letter)
    ledger.sent(mail.id, clock())


def _is_due(mail: DueMail, record: MailRecord | None, today: date) -> bool:
    if record is None:
        return today <= mail.until
    return record.sent_at is None


def _expiring(workspace: Workspace, keys: Iterable[Key], now: int, after: timedelta) -> list[tuple[Key, date]]:
    """The keys whose last day is near, or over for no longer than ``after``, with that day."""
    zone = _zone(workspace)
    today = local_date(now, zone)
    return [
        (key, until)
        for key in keys
        if (until := key.period.end) is not None
        and not key.disabled
        and until - NOTICE <= today <= until + after
        and until - local_date(key.created_at, zone) > NOTICE
    ]


def _too_late(workspace: Workspace, ledger: Ledger, now: int) -> list[MailId]:
    today = local_date(now, _zone(workspace))
    return [mail for mail in ledger if today > mail.until + PATIENCE]


def _given_up(
    workspace: Workspace, keys: Iterable[Key], ledger: Ledger, now: int
) -> tuple[tuple[MailId, MailRecord], ...]:
    """The mails that never got through, about last days that keys still have."""
    last_days = {(key.id, key.period.end) for key in keys}
    return tuple(
        (mail, ledger[mail])
        for mail in _too_late(workspace, ledger, now)
        if ledger[mail].sent_at is None and (mail.key, mail.until) in last_days
    )


def _unheard(workspace: Workspace, keys: Iterable[Key], now: int) -> tuple[Key, ...]:
    if _recipients(workspace):
        return ()
    return tuple(key for key, _ in _expiring(workspace, keys, now, timedelta()))


def _recipients(workspace: Workspace) -> list[Member]:
    """Owners and maintainers, each address once."""
    return list({member.email.lower(): member for member in workspace.members if member.role in RECIPIENTS}.values())


def _keys(workspace_store: WorkspaceStore) -> tuple[Key, ...]:
    access = AccessFile(workspace_store).read()
    return access.keys if access else ()


def _zone(workspace: Workspace) -> ZoneInfo:
    return ZoneInfo(workspace.timezone)

"""Expiry e-mails of one store in a bucket, sent by several machines: each arrives once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from engine.access.expiry.ledger import LEASE_MS, LedgerFile, RoundUnderWay
from engine.access.expiry.notices import Round, due_mails, send_due_mails
from engine.access.keys.access import AccessFile, issue_key
from engine.mail.mail_server import parse_mail_server
from engine.mail.mailer import Mailer
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.store import WorkspaceStore
from tests.engine.access.expiry.test_notices import ACME, BOTH, CREATED, TOKYO, at
from tests.servers.mail_server import MailServer, mail_server

NOW = at(CREATED + timedelta(85))
MACHINES = 4


@pytest.fixture
def smtp(tmp_path: Path) -> Iterator[MailServer]:
    with mail_server(tmp_path / "smtp") as running:
        yield running


def machine(tmp_path: Path, number: int) -> WorkspaceStore:
    """The workspace as one machine has it: a directory of its own, and the bucket of all."""
    directory = tmp_path / f"machine-{number}" / "acme"
    return WorkspaceStore("acme", directory, DirectoryObjects(tmp_path / "bucket"))


def issue(place: WorkspaceStore, *names: str) -> None:
    for name in names:
        issue_key(
            AccessFile(place),
            name=name,
            scope=None,
            now=at(CREATED),
            zone=ZoneInfo(TOKYO),
            end=CREATED + timedelta(90),
        )


def send(place: WorkspaceStore | LedgerFile, smtp: MailServer, now: int = NOW) -> Round:
    file = place if isinstance(place, LedgerFile) else LedgerFile(place)
    with Mailer(parse_mail_server(smtp.url())) as mailer:
        return send_due_mails(ACME, file, mailer, now, lambda: now)


def test_machines_that_begin_at_once_send_each_mail_once(tmp_path: Path, smtp: MailServer) -> None:
    places = [machine(tmp_path, number) for number in range(MACHINES)]
    issue(places[0], "one", "two", "three")
    begin = threading.Barrier(MACHINES)
    outcomes: list[Round | RoundUnderWay] = []

    def run(place: WorkspaceStore) -> None:
        begin.wait()
        try:
            outcomes.append(send(place, smtp))
        except RoundUnderWay as refusal:
            outcomes.append(refusal)

    threads = [threading.Thread(target=run, args=(place,)) for place in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == MACHINES
    assert smtp.recipients() == sorted(BOTH * 3)
    assert sum(len(outcome.sent) for outcome in outcomes if isinstance(outcome, Round)) == 6
    for place in places:
        assert send(place, smtp).sent == (), "nothing is left, and no lease is in the way"


def test_a_machine_that_died_in_its_round_holds_the_others_up_for_its_lease(tmp_path: Path, smtp: MailServer) -> None:
    dead, other = machine(tmp_path, 0), machine(tmp_path, 1)
    issue(dead, "one")
    LedgerFile(dead).hold(NOW)  # and never gives it back
    with pytest.raises(RoundUnderWay, match="another machine"):
        send(other, smtp, NOW + LEASE_MS - 1)
    assert smtp.mails() == []
    assert len(send(other, smtp, NOW + LEASE_MS).sent) == 2


def test_a_machine_that_died_with_its_clock_ahead_holds_the_others_up_for_its_lease_too(
    tmp_path: Path, smtp: MailServer
) -> None:
    dead, other = machine(tmp_path, 0), LedgerFile(machine(tmp_path, 1))
    issue(dead, "one")
    LedgerFile(dead).hold(NOW + 365 * 24 * 3_600_000)
    for later in (0, LEASE_MS - 1):
        with pytest.raises(RoundUnderWay, match="another machine"):
            send(other, smtp, NOW + later)
    assert len(send(other, smtp, NOW + LEASE_MS).sent) == 2


def test_a_machine_that_was_held_up_for_longer_than_its_lease_sends_nothing_twice(
    tmp_path: Path, smtp: MailServer
) -> None:
    slow, other = machine(tmp_path, 0), machine(tmp_path, 1)
    issue(slow, "one")
    found = AccessFile(slow).read()
    assert found is not None
    with LedgerFile(slow).opened(NOW) as ledger:
        due = due_mails(ACME, found.keys, ledger.mails, NOW)
        later = NOW + LEASE_MS
        assert len(send(other, smtp, later).sent) == len(due) == 2
        with pytest.raises(RoundUnderWay):
            ledger.attempt(due[0].id, later)
    assert smtp.recipients() == BOTH

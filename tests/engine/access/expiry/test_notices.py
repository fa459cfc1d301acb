"""Expiry e-mails (contract 6): when they are due, what they say, and that each arrives once, over real SMTP."""

from __future__ import annotations

import json
import os
import random
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from engine.access.expiry.ledger import LedgerFile
from engine.access.expiry.letter import edit_url, expiry_letter
from engine.access.expiry.notices import Round, due_mails, send_due_mails
from engine.access.keys import access
from engine.access.keys.access import AccessFile
from engine.access.keys.keys import Key
from engine.mail.mail_server import parse_mail_server
from engine.mail.mailer import Mailer
from snapshots.model import Member, Workspace
from snapshots.store.document import DamagedDocument
from snapshots.store.durable import StoreError
from tests.servers.mail_server import ROOT, MailServer, mail_server

TOKYO = "Asia/Tokyo"
CREATED = date(2026, 3, 1)
MIKA = Member("Mika", "mika@acme.example", "owner")
REN = Member("Ren 蓮", "ren@acme.example", "maintainer")
ACME = Workspace(
    "acme",
    "Acme",
    ("ja",),
    TOKYO,
    members=(MIKA, Member("Ed", "ed@acme.example", "editor"), REN),
    dashboard_url="https://cms.acme.example",
)
BOTH = ["mika@acme.example", "ren@acme.example"]


def at(day: date, clock: str = "12:00:00", zone: str = TOKYO) -> int:
    """An instant of a day in a time zone, as UTC milliseconds."""
    return round(datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)


@pytest.fixture(scope="module")
def smtp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailServer]:
    with mail_server(tmp_path_factory.mktemp("smtp")) as running:
        yield running


@pytest.fixture
def server(smtp: MailServer) -> MailServer:
    for path in [*smtp.folder.glob("mail-*"), smtp.folder / "refused.json", smtp.folder / "hang"]:
        path.unlink(missing_ok=True)
    return smtp


def issue(directory: Path, *, days: int | None = 90, created: date = CREATED, name: str = "Website") -> Key:
    return access.issue_key(
        AccessFile(directory),
        name=name,
        scope=None,
        now=at(created),
        zone=ZoneInfo(TOKYO),
        validity="none" if days is None else None,
        end=None if days is None else created + timedelta(days),
    )[0]


def edit(directory: Path, key: Key, day: date, **changes: Any) -> None:
    access.edit_key(AccessFile(directory), key.prefix, access.KeyChange(**changes), now=at(day), zone=ZoneInfo(TOKYO))


def send(directory: Path, server: MailServer | str, now: int, workspace: Workspace = ACME) -> Round:
    url = server if isinstance(server, str) else server.url()
    with Mailer(parse_mail_server(url)) as mailer:
        return send_due_mails(workspace, LedgerFile(directory), mailer, now, lambda: now)


def due_days(directory: Path, days: range, workspace: Workspace = ACME) -> list[int]:
    """On which days after the creation somebody would be told."""
    found = AccessFile(directory).read()
    assert found is not None
    return [n for n in days if due_mails(workspace, found.keys, {}, at(CREATED + timedelta(n)))]


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (90, range(83, 91)),
        (30, range(23, 31)),
        (9, range(2, 10)),
        (8, range(1, 9)),
        (7, []),
        (1, []),
        (0, []),
        (None, []),
    ],
)
def test_the_days_on_which_a_mail_is_due(tmp_path: Path, days: int | None, expected: range | list[int]) -> None:
    issue(tmp_path, days=days)
    assert due_days(tmp_path, range(120)) == list(expected)


@pytest.mark.parametrize(
    ("zone", "last_day"),
    [
        ("UTC", date(2026, 5, 30)),
        (TOKYO, date(2026, 5, 30)),
        ("America/New_York", date(2026, 3, 12)),  # summer time began four days before
        ("America/New_York", date(2026, 11, 3)),  # and ended two days before
        ("Africa/Cairo", date(2026, 5, 1)),  # its seventh day before begins at 1:00
        ("Pacific/Apia", date(2026, 6, 1)),
    ],
)
def test_a_mail_is_due_from_midnight_on_in_the_workspaces_zone(tmp_path: Path, zone: str, last_day: date) -> None:
    key = issue(tmp_path, days=None, created=date(2026, 1, 1))
    edit(tmp_path, key, date(2026, 1, 1), end=last_day)
    workspace = Workspace("acme", "Acme", ("ja",), zone, members=(MIKA,))
    found = AccessFile(tmp_path).read()
    assert found is not None
    first, after = at(last_day - timedelta(7), "00:00:00", zone), at(last_day + timedelta(1), "00:00:00", zone)
    for now, due in ((first - 1, 0), (first, 1), (after - 1, 1), (after, 0)):
        assert len(due_mails(workspace, found.keys, {}, now)) == due, now


def test_who_is_told_once(tmp_path: Path, server: MailServer) -> None:
    key = issue(tmp_path)
    assert send(tmp_path, server, at(CREATED + timedelta(82))) == Round((), (), (), ())
    assert not (tmp_path / "expiry_mails.json").exists(), "a round without mails writes nothing"
    done = send(tmp_path, server, at(CREATED + timedelta(83)))
    assert [mail.member for mail in done.sent] == [MIKA, REN]
    assert done.sent[0].key == key
    for day in (83, 84, 90, 91, 200):
        assert send(tmp_path, server, at(CREATED + timedelta(day))) == Round((), (), (), ())
    assert server.recipients() == BOTH
    assert stat.S_IMODE((tmp_path / "expiry_mails.json").stat().st_mode) == 0o600


def test_a_round_that_was_missed_is_caught_up(tmp_path: Path, server: MailServer) -> None:
    issue(tmp_path)
    assert len(send(tmp_path, server, at(CREATED + timedelta(90), "23:59:59")).sent) == 2
    assert "expires today" in server.mails()[0]["Subject"]


def test_another_mail_after_the_period_was_changed(tmp_path: Path, server: MailServer) -> None:
    key = issue(tmp_path)
    told = CREATED + timedelta(83)
    send(tmp_path, server, at(told))
    edit(tmp_path, key, told, name="Shop", rate_limit=5)
    edit(tmp_path, key, told, start=told)
    assert send(tmp_path, server, at(told)).sent == (), "the last day is the same"
    edit(tmp_path, key, told, validity="90d")
    assert send(tmp_path, server, at(told + timedelta(82))).sent == ()
    assert len(send(tmp_path, server, at(told + timedelta(83))).sent) == 2
    edit(tmp_path, key, told + timedelta(84), end=told + timedelta(88))
    assert len(send(tmp_path, server, at(told + timedelta(84))).sent) == 2, "an earlier last day is news too"
    assert send(tmp_path, server, at(told + timedelta(85))).sent == ()
    assert len({mail["Message-ID"] for mail in server.mails()}) == 6


def test_an_edit_into_the_past_tells_nobody(tmp_path: Path, server: MailServer) -> None:
    key = issue(tmp_path)
    today = CREATED + timedelta(20)
    edit(tmp_path, key, today, end=today - timedelta(1))
    assert send(tmp_path, server, at(today)).sent == ()


def test_deleted_and_disabled_keys(tmp_path: Path, server: MailServer) -> None:
    key, other = issue(tmp_path), issue(tmp_path, name="Other")
    now = at(CREATED + timedelta(84))
    access.disable_key(AccessFile(tmp_path), key.prefix)
    access.delete_key(AccessFile(tmp_path), other.prefix)
    assert send(tmp_path, server, now).sent == ()
    access.enable_key(AccessFile(tmp_path), key.prefix)
    assert len(send(tmp_path, server, now).sent) == 2


def test_members_who_come_later_and_addresses_given_twice(tmp_path: Path, server: MailServer) -> None:
    issue(tmp_path)
    now = at(CREATED + timedelta(84))
    nobody = Workspace("acme", "Acme", ("ja",), TOKYO, members=(Member("Ed", "ed@acme.example", "editor"),))
    assert [key.name for key in send(tmp_path, server, now, nobody).unheard] == ["Website"]
    twice = (MIKA, Member("Mika", "MIKA@acme.example", "maintainer"))
    assert len(send(tmp_path, server, now, Workspace("acme", "Acme", ("ja",), TOKYO, members=twice)).sent) == 1
    assert [mail.member for mail in send(tmp_path, server, now).sent] == [REN]


def test_a_refused_mail_is_tried_again(tmp_path: Path, server: MailServer) -> None:
    issue(tmp_path)
    server.refuse("mika@acme.example")
    first = send(tmp_path, server, at(CREATED + timedelta(83)))
    assert [mail.member for mail in first.sent] == [REN]
    assert [(mail.member, reason) for mail, reason in first.refused] == [
        (MIKA, "the mail server refused the address: 550 No such person here")
    ]
    (failed,) = [record for record in LedgerFile(tmp_path).read().values() if record.sent_at is None]
    assert (failed.attempts, failed.refusal) == (1, first.refused[0][1])
    late = send(tmp_path, server, at(CREATED + timedelta(93)))
    assert [mail.member for mail, _ in late.refused] == [MIKA]
    server.refuse()
    assert [mail.member for mail in send(tmp_path, server, at(CREATED + timedelta(94))).sent] == [MIKA]
    text = server.mails()[-1]
    assert "has expired" in text["Subject"]
    assert "Its last day was Saturday, 30 May 2026" in plain(text)
    assert send(tmp_path, server, at(CREATED + timedelta(98))).given_up == ()


def test_a_mail_that_never_gets_through_is_given_up_aloud(tmp_path: Path, server: MailServer) -> None:
    key = issue(tmp_path)
    server.refuse("mika@acme.example")
    send(tmp_path, server, at(CREATED + timedelta(83)))
    assert send(tmp_path, server, at(CREATED + timedelta(97))).given_up == ()
    ((lost, record),) = send(tmp_path, server, at(CREATED + timedelta(98))).given_up
    assert (lost.key, lost.address, record.attempts) == (key.id, "mika@acme.example", 2)
    assert send(tmp_path, server, at(CREATED + timedelta(98))) == Round((), (), (), ())


def test_a_mail_server_that_is_down_for_a_while(tmp_path: Path, server: MailServer) -> None:
    issue(tmp_path)
    down = send(tmp_path, server.url(password="wrong"), at(CREATED + timedelta(89)))
    assert [mail.member for mail, _ in down.refused] == [MIKA, REN]
    assert all("refused the user or the password" in reason for _, reason in down.refused)
    assert len(send(tmp_path, server, at(CREATED + timedelta(92))).sent) == 2, "tried before, so not lost"
    assert server.recipients() == BOTH


def test_a_ledger_that_cannot_be_written_stops_the_sending(tmp_path: Path, server: MailServer) -> None:
    issue(tmp_path)
    (tmp_path / "expiry_mails.json").mkdir()
    with pytest.raises(StoreError):
        send(tmp_path, server, at(CREATED + timedelta(84)))
    assert server.mails() == []


@pytest.mark.parametrize("damage", [b"{", b'{"format": 3, "mails": []}'])
def test_a_damaged_ledger_stops_the_sending(tmp_path: Path, server: MailServer, damage: bytes) -> None:
    issue(tmp_path)
    (tmp_path / "expiry_mails.json").write_bytes(damage)
    with pytest.raises(DamagedDocument, match=r"expiry_mails\.json"):
        send(tmp_path, server, at(CREATED + timedelta(84)))
    assert server.mails() == []


def test_rounds_at_the_same_time_send_once(tmp_path: Path, server: MailServer) -> None:
    issue(tmp_path)
    now = at(CREATED + timedelta(84))
    rounds = [threading.Thread(target=send, args=(tmp_path, server, now)) for _ in range(4)]
    for one in rounds:
        one.start()
    for one in rounds:
        one.join()
    assert server.recipients() == BOTH


ROUND = """
import sys
from pathlib import Path
from engine.access.expiry.ledger import LedgerFile
from engine.access.expiry.notices import send_due_mails
from engine.mail.mail_server import parse_mail_server
from engine.mail.mailer import Mailer
from tests.engine.access.expiry.test_notices import ACME
now = int(sys.argv[3])
with Mailer(parse_mail_server(sys.argv[2])) as mailer:
    print(flush=True)
    send_due_mails(ACME, LedgerFile(Path(sys.argv[1])), mailer, now, lambda: now)
"""


def process(directory: Path, server: MailServer, now: int) -> subprocess.Popen[bytes]:
    """A process that is about to begin a round."""
    command = [sys.executable, "-c", ROUND, str(directory), server.url(), str(now)]
    running = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ['PYTHONPATH']}"},
        stdout=subprocess.PIPE,
    )
    assert running.stdout is not None
    running.stdout.readline()
    return running


def kill(running: subprocess.Popen[bytes]) -> None:
    running.send_signal(signal.SIGKILL)
    running.communicate()


@pytest.mark.slow
def test_killed_at_any_instant_nobody_is_left_out(tmp_path: Path, server: MailServer) -> None:
    chance = random.Random(4)
    now = at(CREATED + timedelta(84))
    for turn in range(4):
        directory = tmp_path / str(turn)
        issue(directory)
        running = process(directory, server, now)
        time.sleep(chance.random() * 0.12)
        kill(running)
        done = send(directory, server, now)
        assert len(done.refused) == 0
        assert {mail.address for mail, record in LedgerFile(directory).read().items() if record.sent_at} == set(BOTH)
        assert send(directory, server, now).sent == ()
        mails = [mail["Message-ID"] for mail in server.mails()]
        assert len(set(mails)) == 2 * (turn + 1), "a mail sent twice has the Message-ID of the first"


def test_killed_while_the_server_answers(tmp_path: Path, server: MailServer) -> None:
    """The one instant in which a mail goes out twice: accepted, and the process dead before it knows."""
    issue(tmp_path)
    now = at(CREATED + timedelta(84))
    server.hang_after_accepting(30)
    running = process(tmp_path, server, now)
    while not server.mails():
        time.sleep(0.01)
    kill(running)
    (server.folder / "hang").unlink()
    (begun,) = LedgerFile(tmp_path).read().values()
    assert (begun.attempts, begun.sent_at, begun.refusal) == (1, None, None)
    send(tmp_path, server, now)
    assert server.recipients() == ["mika@acme.example", *BOTH]
    assert len({mail["Message-ID"] for mail in server.mails()}) == 2


# What it says


def plain(message: EmailMessage) -> str:
    part = message.get_body(("plain",))
    assert part is not None
    return str(part.get_content()).replace("\r\n", "\n")


def html(message: EmailMessage) -> str:
    part = message.get_body(("html",))
    assert part is not None
    return str(part.get_content())


def letter(key: Key, workspace: Workspace = ACME, *, days: int = 7, member: Member = REN) -> EmailMessage:
    assert key.period.end is not None
    today = key.period.end - timedelta(days)
    return expiry_letter(workspace, key, key.period.end, member, today, "cms@acme.example", at(today))


def test_what_it_says(tmp_path: Path, server: MailServer) -> None:
    key = issue(tmp_path, name="Website, <b>“production”</b>")
    send(tmp_path, server, at(CREATED + timedelta(83)))
    mail = server.mails()[1]
    url = f"https://cms.acme.example/acme/settings/api-keys/{key.id}/validity"
    assert edit_url(ACME, key) == url
    assert mail["To"] == "Ren 蓮 <ren@acme.example>"
    assert mail["From"] == "Acme API keys <cms@acme.example>"
    assert mail["Subject"] == "Acme: the API key “Website, <b>“production”</b>” expires in 7 days"
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail.get_content_type() == "multipart/alternative"
    for text in (plain(mail), html(mail)):
        for said in (
            "Hello Ren 蓮",
            "expires in 7 days",
            "Saturday, 30 May 2026",
            TOKYO,
            key.prefix,
            "2026-05-30",
            url,
        ):
            assert said in text
    assert "“Website, <b>“production”</b>”" in plain(mail)
    assert "<b>" not in html(mail)
    assert "http://" not in html(mail), "nothing is fetched from elsewhere"


@pytest.mark.parametrize(
    ("days", "said"),
    [
        (7, "expires in 7 days"),
        (2, "expires in 2 days"),
        (1, "expires tomorrow"),
        (0, "expires today"),
        (-1, "has expired"),
    ],
)
def test_how_near_the_end_is(tmp_path: Path, days: int, said: str) -> None:
    mail = letter(issue(tmp_path), days=days)
    assert mail["Subject"] == f"Acme: the API key “Website” {said}"
    assert f"of Acme {said}." in plain(mail)


def test_without_a_dashboard_it_names_the_command(tmp_path: Path) -> None:
    key = issue(tmp_path)
    mail = letter(key, Workspace("acme", "Acme", ("ja",), TOKYO))
    assert f"cms key edit {key.prefix} --validity 90d -w acme" in plain(mail)
    assert f"cms key edit {key.prefix} --validity 90d -w acme" in html(mail)


def test_names_cannot_add_headers(tmp_path: Path) -> None:
    workspace = Workspace("acme", "Acme\r\nBcc: all@acme.example", ("ja",), TOKYO)
    mail = letter(issue(tmp_path), workspace, member=Member('R"e\nn, <x@y>', "ren@acme.example", "owner"))
    sent = bytes(mail)
    assert mail["Bcc"] is None
    assert b"\r\nBcc" not in sent
    assert [(a.display_name, a.addr_spec) for a in mail["To"].addresses] == [('R"e n, <x@y>', "ren@acme.example")]


def test_an_address_that_no_header_holds_is_refused_alone(tmp_path: Path, server: MailServer) -> None:
    issue(tmp_path)
    workspace = Workspace("acme", "Acme", ("ja",), TOKYO, members=(Member("X", "x@@acme(", "owner"), REN))
    done = send(tmp_path, server, at(CREATED + timedelta(84)), workspace)
    assert [mail.member for mail in done.sent] == [REN]
    assert "is not an address that mail can be sent to" in done.refused[0][1]


def test_no_key_text_is_in_the_store_or_a_mail(tmp_path: Path, server: MailServer) -> None:
    _, text = access.issue_key(
        AccessFile(tmp_path), name="W", scope=None, now=at(CREATED), zone=UTC, end=CREATED + timedelta(20)
    )
    send(tmp_path, server, at(CREATED + timedelta(14)))
    assert len(server.mails()) == 2
    said = "".join(map(str, server.mails())) + "".join(p.read_text() for p in tmp_path.iterdir())
    assert text[:11] in said
    assert text[12:36] not in said
    assert json.loads((tmp_path / "expiry_mails.json").read_text())["format"] == 1

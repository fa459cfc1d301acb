"""E-mails about keys that expire: one keeper of all servers sends them, whatever becomes of the others."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from threading import Event

import pytest

from engine.access.keys.access import issue_key
from server.background.expiry_mail import LOOK_SECONDS, ExpiryMailing
from server.states.mail_watch import MailWatch
from server.states.states import States
from snapshots.times import now_ms
from tests.servers.mail_server import MailServer, mail_server
from tests.sites.served_site import DEADLINE, Site, eventually, serving

pytestmark = pytest.mark.slow

DAY = 86_400_000
PEOPLE = """\
members:
  - {name: Mika, email: mika@acme.example, role: owner}
  - {name: Ren, email: ren@acme.example, role: maintainer}
"""
BOTH = ["mika@acme.example", "ren@acme.example"]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(tmp_path)
    with (site.source / "workspace.yaml").open("a") as definition:
        definition.write(PEOPLE)
    site.publish("one")
    return site


@pytest.fixture
def smtp(tmp_path: Path) -> Iterator[MailServer]:
    with mail_server(tmp_path / "smtp") as running:
        yield running


def expiring_key(site: Site, days: int = 5) -> str:
    """Issue a key that was created long ago and has so many days left: its prefix."""
    key, _ = issue_key(site.access, name="Old", scope=None, now=now_ms() - (90 - days) * DAY, zone=UTC, validity="90d")
    return key.prefix


def test_one_of_several_processes_sends(site: Site, smtp: MailServer, tmp_path: Path) -> None:
    prefix = expiring_key(site)
    with serving(site.store, tmp_path / "log", workers=3, CMS_SMTP_URL=smtp.url()) as server:
        eventually(lambda: len(smtp.mails()) >= 2)
        eventually(lambda: server.log().count("serving snapshot version") == 3)
        time.sleep(0.5)
        assert smtp.recipients() == BOTH
        eventually(lambda: server.log().count(f"told one owner that key {prefix} expires on") == 1)
        assert "geheim" not in server.log()
        eventually(lambda: "smtp_url=smtp://cms%40acme.example:***@localhost" in server.log())
        assert "acme.example " not in server.log().replace("settings:", ""), "no address is logged without need"


def test_another_process_takes_over_from_a_dead_one(site: Site, smtp: MailServer, tmp_path: Path) -> None:
    expiring_key(site)
    url = smtp.url()
    with serving(site.store, tmp_path / "one", CMS_SMTP_URL=url) as one:
        eventually(lambda: smtp.recipients() == BOTH)
        with serving(site.store, tmp_path / "two", CMS_SMTP_URL=url) as two:
            prefix = expiring_key(site, 6)
            time.sleep(0.6)
            assert len(smtp.mails()) == 2, "the next round of the first is in an hour, and the second has none"
            one.stop(signal.SIGKILL)
            eventually(lambda: len(smtp.mails()) == 4)
            eventually(lambda: two.log().count(f"key {prefix} expires") == 2)
            time.sleep(0.3)
            assert smtp.recipients() == sorted(BOTH * 2)


def test_a_refusal_is_logged_with_its_reason(site: Site, smtp: MailServer, tmp_path: Path) -> None:
    prefix = expiring_key(site)
    smtp.refuse("mika@acme.example")
    with serving(site.store, tmp_path / "log", CMS_SMTP_URL=smtp.url()) as server:
        eventually(lambda: smtp.recipients() == ["ren@acme.example"])
        said = f"could not tell mika@acme.example that key {prefix} expires on"
        eventually(lambda: said in server.log() and "550 No such person here" in server.log())


def test_without_a_mail_server_the_log_tells(site: Site, tmp_path: Path) -> None:
    prefix = expiring_key(site)
    with serving(site.store, tmp_path / "log") as server:
        said = f"acme: key {prefix} expires on"
        eventually(lambda: said in server.log() and "CMS_SMTP_URL is not set" in server.log())


def test_a_damaged_ledger_is_logged_and_serving_goes_on(site: Site, smtp: MailServer, tmp_path: Path) -> None:
    expiring_key(site)
    _, text = site.key()
    (site.place.directory / "expiry_mails.json").write_text("{")
    with serving(site.store, tmp_path / "log", CMS_SMTP_URL=smtp.url()) as server:
        eventually(lambda: "acme: expiry e-mails wait:" in server.log())
        assert server.get("/v1/acme/posts", headers={"X-API-KEY": text}).status == 200
        assert smtp.mails() == []


@pytest.mark.parametrize("what", ["access.json", "expiry_mails.json", "current"])
def test_what_could_not_be_read_for_a_moment_is_read_at_the_next_look(
    site: Site, smtp: MailServer, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    expiring_key(site)
    damaged, clock = site.place.directory / what, [now_ms()]
    whole = damaged.read_bytes() if damaged.exists() else None
    damaged.write_text("{")
    states = States("test", lambda: clock[0])
    watch = MailWatch(smtp.url(), states)
    mailing = ExpiryMailing(site.store, site.store, smtp.url(), lambda: True, lambda: clock[0], watch)

    def looks(times: int) -> None:
        for _ in range(times):
            assert mailing.round(Event()) == LOOK_SECONDS
            clock[0] += int(LOOK_SECONDS * 1000)

    looks(3)
    assert [one.what for one in states.troubles()] == ["mail"]
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == ["acme"], "told once"
    assert smtp.mails() == []
    damaged.unlink() if whole is None else damaged.write_bytes(whole)
    looks(3)
    assert states.troubles() == []
    assert smtp.recipients() == BOTH


@pytest.mark.parametrize("is_back", [True, False])
def test_what_could_not_be_read_is_no_trouble_any_more_where_no_mail_is_sent(site: Site, *, is_back: bool) -> None:
    """Be it whole again or gone."""
    expiring_key(site)
    clock = [now_ms()]
    states = States("test", lambda: clock[0])
    mailing = ExpiryMailing(site.store, site.store, None, lambda: True, lambda: clock[0], MailWatch(None, states))
    damaged = site.place.directory / "current"
    whole = damaged.read_bytes()
    damaged.write_text("{")
    mailing.round(Event())
    assert [one.what for one in states.troubles()] == ["mail"]
    damaged.unlink()
    if is_back:
        damaged.write_bytes(whole)
    clock[0] += int(LOOK_SECONDS * 1000)
    mailing.round(Event())
    assert states.troubles() == []


def test_a_mail_server_that_hangs_holds_up_nothing(site: Site, tmp_path: Path) -> None:
    expiring_key(site)
    _, text = site.key()
    with socket.create_server(("localhost", 0)) as silent:
        url = f"smtp://localhost:{silent.getsockname()[1]}?timeout=600"
        with serving(site.store, tmp_path / "log", CMS_SMTP_URL=url) as server:
            connection, _ = silent.accept()
            with connection:
                assert server.get("/v1/acme/posts", headers={"X-API-KEY": text}).status == 200
                began = time.monotonic()
                assert server.stop() == 0
                assert time.monotonic() - began < DEADLINE

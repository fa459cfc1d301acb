"""What servers do for keys beside answering: they note last uses, and one of them tells whose keys expire."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

import pytest

from engine.keys import access
from engine.keys.access import issue_key
from engine.keys.last_use import last_uses
from snapshots.times import now_ms
from tests import served_site
from tests.mail_server import MailServer, mail_server
from tests.served_site import Running, Site, eventually, serving

DAY = 86_400_000
QUICK = """
import server.keys.last_use, server.keys.expiry_mail
server.keys.last_use.WRITE_SECONDS = server.keys.expiry_mail.SUCCESSION_SECONDS = 0.2
"""
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


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers of one process that write last uses, and look for a successor, five times a second."""
    monkeypatch.setattr(served_site, "SCRIPT", ["-c", QUICK + served_site.SERVE])


def test_edits_are_in_force_on_every_worker_within_a_second(site: Site, tmp_path: Path) -> None:
    key, text = site.key(rate_limit=100_000)
    with serving(site.store, tmp_path / "log", workers=3) as server:
        eventually(lambda: server.log().count("serving version") == 3)
        eventually(lambda: {use(server, text) for _ in range(20)} == {200})
        for change, status in ((access.disable_key, 401), (access.enable_key, 200), (access.delete_key, 401)):
            change(site.access, key.prefix)
            time.sleep(1.0)
            assert {use(server, text) for _ in range(40)} == {status}


def expiring_key(site: Site, days: int = 5) -> str:
    """Issue a key that was created long ago and has so many days left: its prefix."""
    key, _ = issue_key(site.access, name="Old", scope=None, now=now_ms() - (90 - days) * DAY, zone=UTC, validity="90d")
    return key.prefix


def use(server: Running, text: str, target: str = "/v1/acme/posts") -> int:
    return server.get(target, headers={"X-API-KEY": text}).status


def used(site: Site, key_id: str) -> int:
    return last_uses(site.place.directory).get(key_id, 0)


@pytest.mark.usefixtures("quick")
def test_last_use_of_several_servers(site: Site, tmp_path: Path) -> None:
    key, text = site.key()
    off, disabled = site.key()
    access.disable_key(site.access, off.prefix)
    with serving(site.store, tmp_path / "one") as one, serving(site.store, tmp_path / "two") as two:
        began = now_ms()
        assert use(one, text) == 200
        assert use(one, disabled) == 401
        assert use(one, text + "x") == 401
        eventually(lambda: used(site, key.id) >= began)
        first = used(site, key.id)
        assert use(two, text, "/v1/acme/nothing") == 404
        eventually(lambda: used(site, key.id) > first)
        second = used(site, key.id)
        assert one.stop(signal.SIGKILL) == two.stop(signal.SIGKILL) == -signal.SIGKILL
        assert last_uses(site.place.directory) == {key.id: second}
    folder = site.place.directory / "last_use"
    for path in folder.iterdir():
        os.utime(path, (1, 1))
    with serving(site.store, tmp_path / "three"):
        eventually(lambda: [path.name for path in folder.iterdir()] == ["folded.json"])
        assert last_uses(site.place.directory) == {key.id: second}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_server_that_ends_writes_the_last_uses(site: Site, tmp_path: Path, workers: int) -> None:
    """With the real half minute between two writes: a thousand requests cost none."""
    key, text = site.key(rate_limit=100_000)
    with serving(site.store, tmp_path / "log", workers=workers) as server:
        began = now_ms()
        for _ in range(50):
            assert use(server, text) == 200
        assert last_uses(site.place.directory) == {}
        assert server.stop() == 0
    assert used(site, key.id) >= began


def test_one_of_several_processes_sends(site: Site, smtp: MailServer, tmp_path: Path) -> None:
    prefix = expiring_key(site)
    with serving(site.store, tmp_path / "log", workers=3, CMS_SMTP_URL=smtp.url()) as server:
        eventually(lambda: len(smtp.mails()) >= 2)
        eventually(lambda: server.log().count("serving version") == 3)
        time.sleep(0.5)
        assert smtp.recipients() == BOTH
        assert server.log().count(f"told one owner that key {prefix} expires on") == 1
        assert "geheim" not in server.log()
        assert "smtp_url=smtp://cms%40acme.example:***@localhost" in server.log()
        assert "acme.example " not in server.log().replace("settings:", ""), "no address is logged without need"


@pytest.mark.usefixtures("quick")
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
        assert use(server, text) == 200
        assert smtp.mails() == []


def test_a_mail_server_that_hangs_holds_up_nothing(site: Site, tmp_path: Path) -> None:
    expiring_key(site)
    _, text = site.key()
    with socket.create_server(("localhost", 0)) as silent:
        url = f"smtp://localhost:{silent.getsockname()[1]}"
        with serving(site.store, tmp_path / "log", CMS_SMTP_URL=url) as server:
            connection, _ = silent.accept()
            with connection:
                assert use(server, text) == 200
                began = time.monotonic()
                assert server.stop() == 0
                assert time.monotonic() - began < 10

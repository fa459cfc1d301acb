"""``cms key notify``: what is due, sent over real SMTP, and what a cron job gets to see."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from engine.access.keys.keys import local_date
from snapshots.times import now_ms
from tests.programs.command_line import DEFINITION, Cms, in_process, write_workspace
from tests.servers.mail_server import MailServer, mail_server

DAY = 86_400_000
PEOPLE = """\
members:
  - {name: Mika, email: mika@acme.example, role: owner}
  - {name: Ed, email: ed@acme.example, role: editor}
  - {name: Ren, email: ren@acme.example, role: maintainer}
dashboard_url: https://cms.acme.example/
"""
BOTH = ["mika@acme.example", "ren@acme.example"]


@pytest.fixture(scope="module")
def smtp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailServer]:
    with mail_server(tmp_path_factory.mktemp("smtp")) as running:
        yield running


@pytest.fixture
def server(smtp: MailServer, monkeypatch: pytest.MonkeyPatch) -> MailServer:
    for path in [*smtp.folder.glob("mail-*"), smtp.folder / "refused.json"]:
        path.unlink(missing_ok=True)
    monkeypatch.setenv("CMS_SMTP_URL", smtp.url())
    return smtp


@pytest.fixture
def cms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    monkeypatch.delenv("CMS_SMTP_URL", raising=False)
    root = write_workspace(tmp_path)
    (root / "workspace.yaml").write_text(DEFINITION + PEOPLE)
    monkeypatch.chdir(root)
    return in_process(monkeypatch, capsys)


def expiring_key(cms: Cms, days: int = 5) -> tuple[str, date]:
    """A key issued 90 days before its last day, which is so many days away: its prefix and that day."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cli.keys.chosen_keys.now_ms", lambda: now_ms() - (90 - days) * DAY)
        document = cms("key", "create", "Website", "--json").json
    until = local_date(now_ms(), ZoneInfo("Asia/Tokyo")) + timedelta(days)
    assert document["until"] == str(until)
    return document["prefix"], until


def test_due_mails_are_listed_and_sent_once(cms: Cms, server: MailServer) -> None:
    assert cms("key", "notify").err == "No expiry e-mail is due.\n"
    prefix, until = expiring_key(cms)
    key = cms("key", "list", "--json").json[0]
    due = cms("key", "notify", "--dry-run", "--json")
    assert (due.status, server.mails()) == (0, [])
    assert due.json[0] == {
        "workspace": "site",
        "prefix": prefix,
        "name": "Website",
        "until": str(until),
        "to": "mika@acme.example",
        "url": f"https://cms.acme.example/site/settings/api-keys/{key['id']}/validity",
        "status": "due",
        "message": None,
    }
    sent = cms("key", "notify")
    assert sent.status == 0
    assert [line.split()[0::2] for line in sent.out.splitlines()] == [
        ["KEY", "EXPIRES", "STATUS"],
        [prefix, str(until), "sent"],
        [prefix, str(until), "sent"],
    ]
    assert server.recipients() == BOTH
    assert cms("key", "notify", "--json").json == []
    assert cms("key", "notify", "--dry-run", "--json").json == []
    assert server.recipients() == BOTH


def test_a_refusal_is_status_1_and_tried_again(cms: Cms, server: MailServer) -> None:
    expiring_key(cms)
    server.refuse("ren@acme.example")
    ran = cms("key", "notify", "--json")
    assert ran.status == 1
    assert [one["status"] for one in ran.json] == ["sent", "refused"]
    assert "error: site, to ren@acme.example: the mail server refused the address: 550" in ran.err
    server.refuse()
    assert [one["to"] for one in cms("key", "notify", "--json").json] == ["ren@acme.example"]


def test_without_a_mail_server(cms: Cms, monkeypatch: pytest.MonkeyPatch) -> None:
    expiring_key(cms)
    ran = cms("key", "notify")
    assert (ran.status, ran.out) == (1, "")
    assert "Set CMS_SMTP_URL" in ran.err
    assert len(cms("key", "notify", "--dry-run", "--json").json) == 2
    monkeypatch.setenv("CMS_SMTP_URL", "smtp://cms:geheim@localhost/x")
    ran = cms("key", "notify")
    assert ran.status == 1
    assert "CMS_SMTP_URL cannot be used" in ran.err
    assert "geheim" not in ran.err


def test_nobody_to_tell_is_a_warning(cms: Cms, server: MailServer) -> None:
    Path("workspace.yaml").write_text(DEFINITION)
    prefix, _ = expiring_key(cms)
    ran = cms("key", "notify")
    assert ran.status == 0
    assert f"warning: site: key {prefix} expires soon, and nobody gets an e-mail" in ran.err


def test_all_workspaces_of_a_store(
    cms: Cms, server: MailServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cron job outside any workspace: one that cannot be told does not keep the others from it."""
    for name in ("alpha", "beta", "site"):
        Path("workspace.yaml").write_text((DEFINITION + PEOPLE).replace("id: site", f"id: {name}"))
        assert cms("snapshot", "build").status == 0
        expiring_key(cms)
    store = tmp_path / ".cms"
    (store / "alpha" / "expiry_mails.json").write_text("{")
    elsewhere = tmp_path.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    monkeypatch.chdir(elsewhere)
    assert [one["workspace"] for one in cms("key", "notify", "--store", store, "-w", "beta", "--json").json] == [
        "beta"
    ] * 2
    ran = cms("key", "notify", "--store", store, "--json")
    assert ran.status == 1
    assert [one["workspace"] for one in ran.json] == ["site", "site"]
    assert "error: alpha: " in ran.err
    assert "expiry_mails.json is damaged" in ran.err

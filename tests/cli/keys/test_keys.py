"""``cms key``: issuing, showing and changing keys from the command line."""

from __future__ import annotations

import os
import pty
import random
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from engine.access.keys.access import AccessFile
from engine.access.keys.keys import is_key_text, local_date
from engine.access.keys.last_use import LastUse
from snapshots.times import now_ms
from tests.programs.command_line import CMS, Cms, at_a_terminal, in_process, write_workspace
from tests.programs.copied_process import Copy

MEMBERS = [
    "id",
    "prefix",
    "name",
    "workspace",
    "scope",
    "from",
    "until",
    "state",
    "label",
    "createdAt",
    "lastUsedAt",
    "rateLimit",
]


@pytest.fixture
def cms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    monkeypatch.chdir(write_workspace(tmp_path))
    return in_process(monkeypatch, capsys)


def today() -> date:
    return local_date(now_ms(), ZoneInfo("Asia/Tokyo"))


def test_a_new_key_is_printed_alone_and_once(cms: Cms, tmp_path: Path) -> None:
    ran = cms("key", "create", "Website")
    key = ran.out.removesuffix("\n")
    assert (ran.status, is_key_text(key)) == (0, True)
    assert f'"Website" for all APIs of workspace "site" (until {today() + timedelta(days=90)})' in ran.err
    assert key not in cms("key", "show", key[:11]).out + cms("key", "list", "--json").out
    stored = (tmp_path / ".cms/site/access.json").read_text(encoding="utf-8")
    assert key not in stored
    assert key[:11] in stored


def test_a_key_as_json(cms: Cms) -> None:
    ran = cms("key", "create", "App", "--api", "blog", "--validity", "30d", "--rate-limit", "60", "--json")
    document = ran.json
    assert (list(document), ran.err) == ([*MEMBERS, "key"], "")
    assert document["scope"] == ["blog"]
    assert (document["state"], document["rateLimit"]) == ("valid", 60)
    assert document["until"] == str(today() + timedelta(days=30))
    assert document["key"].startswith(document["prefix"])
    without = {name: document[name] for name in MEMBERS}
    assert cms("key", "list", "--json").json == [without]
    assert cms("key", "show", document["prefix"], "--json").json == without


def test_keys_can_be_issued_before_and_after_the_first_build(cms: Cms) -> None:
    assert cms("key", "create", "Before", "--api", "authors").status == 0
    cms("snapshot", "build")
    assert cms("key", "create", "After", "--api", "authors").status == 0
    assert [one["scope"] for one in cms("key", "list", "--json").json] == [["authors"], ["authors"]]


def test_a_list_for_people(cms: Cms) -> None:
    assert 'Workspace "site" has no keys yet.' in cms("key", "list").err
    cms("key", "create", "Website", "--validity", "none")
    listed = cms("key", "list")
    assert listed.err == "Days and times are Asia/Tokyo.\n"
    header, row = listed.out.splitlines()
    assert re.split(" {2,}", header) == ["PREFIX", "NAME", "SCOPE", "STATE", "CREATED", "LAST USED"]
    assert re.split(" {2,}", row)[1:4] == ["Website", "all APIs", "No expiry"]


def test_changing_a_key(cms: Cms) -> None:
    prefix = cms("key", "create", "Website", "--json").json["prefix"]
    begin = prefix[:6]
    edited = cms("key", "edit", begin, "--name", "Shop", "--api", "blog", "--validity", "none", "--json").json
    assert (edited["name"], edited["scope"], edited["label"]) == ("Shop", ["blog"], "No expiry")
    assert cms("key", "edit", begin, "--all-apis", "--json").json["scope"] == "all"
    assert cms("key", "disable", begin, "--json").json["state"] == "disabled"
    assert cms("key", "enable", begin, "--json").json["state"] == "valid"
    assert cms("key", "prefix", "Shop").out == f"{prefix}\n"
    assert cms("key", "delete", begin).out == f'Key {prefix} ("Shop") is deleted: applications using it get 401.\n'
    assert cms("key", "list", "--json").json == []


def test_an_edit_into_the_past_is_a_warning(cms: Cms) -> None:
    start, end = str(today() - timedelta(days=10)), str(today() - timedelta(days=1))
    refused = cms("key", "create", "Late", "--from", start, "--until", end)
    assert (refused.status, refused.out) == (1, "")
    prefix = cms("key", "create", "Late", "--from", start, "--json").json["prefix"]
    edited = cms("key", "edit", prefix, "--until", end)
    assert edited.status == 0
    assert f"warning: The end date {end} is past" in edited.err
    assert "Expired" in edited.out


def test_showing_a_key_to_people(cms: Cms) -> None:
    prefix = cms("key", "create", "Website", "--validity", "none", "--json").json["prefix"]
    shown = dict(re.split(" {2,}", line) for line in cms("key", "show", prefix).out.splitlines())
    assert shown["Scope"] == "all APIs"
    assert shown["Valid"] == f"{today()} to no end date (Asia/Tokyo)"
    assert shown["Rate limit"] == "300 requests a minute (the workspace’s)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["create", "X", "--api", "blgo"], 'has no API "blgo". Did you mean "blog"?'),
        (["create", "X", "--until", "31.12.2030"], "Write one as YYYY-MM-DD"),
        (["create", "X", "--validity", "2y"], "Choose one of 30d, 90d, 1y, none"),
        (["create", "X", "--validity", "30d", "--until", "2030-01-01"], "not both"),
        (["create", "  "], "A key needs a name"),
        (["show", "pq_zzzzzzzz"], "No key begins with"),
        (["prefix", "Nobody"], 'No key has the name "Nobody"'),
        (["list", "-w", "other"], 'has no workspace "other"'),
    ],
)
def test_what_cannot_be_done_is_status_1(cms: Cms, arguments: list[str], message: str) -> None:
    ran = cms("key", *arguments)
    assert (ran.status, ran.out) == (1, "")
    assert message in ran.err


def test_an_expired_key_is_valid_again_with_the_same_value(cms: Cms) -> None:
    created = cms("key", "create", "Website", "--from", str(today() - timedelta(9)), "--json").json
    prefix = created["prefix"]
    cms("key", "edit", prefix, "--until", str(today() - timedelta(1)))
    assert cms("key", "list", "--json").json[0]["state"] == "expired", "it stays in the list"
    renamed = cms("key", "edit", prefix, "--name", "Shop", "--json").json
    assert (renamed["from"], renamed["until"], renamed["state"]) == (
        str(today() - timedelta(9)),
        str(today() - timedelta(1)),
        "expired",
    ), "a period that is not given does not change"
    before = stored_hash(prefix)
    again = cms("key", "edit", prefix, "--until", str(today()), "--json").json
    assert (again["state"], again["label"]) == ("expiring", "Expires today")
    assert cms("key", "edit", prefix, "--validity", "30d", "--json").json["state"] == "valid"
    assert stored_hash(prefix) == before


def stored_hash(prefix: str) -> str:
    found = AccessFile(Path(".cms/site")).read()
    assert found is not None
    return next(key.hash for key in found.keys if key.prefix == prefix)


def test_when_a_key_was_last_used(cms: Cms) -> None:
    key = cms("key", "create", "Website", "--json").json
    assert key["lastUsedAt"] is None
    assert cms("key", "list").out.splitlines()[1].endswith(" -")
    uses = LastUse(Path(".cms"))
    uses.note("site", key["id"], 1_795_000_000_000)
    uses.write()
    assert cms("key", "list", "--json").json[0]["lastUsedAt"] == "2026-11-18T11:06:40.000Z"
    assert cms("key", "show", key["prefix"], "--json").json["lastUsedAt"] == "2026-11-18T11:06:40.000Z"
    assert cms("key", "list").out.splitlines()[1].endswith(" 2026-11-18 20:06")
    shown = cms("key", "show", key["prefix"]).out
    assert "2026-11-18 20:06" in shown
    assert "UTC" not in shown


def test_a_key_is_created_on_a_day_of_the_workspaces_zone(cms: Cms, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "cli.keys.chosen_keys.now_ms", lambda: 1_795_020_000_000
    )  # 16:40 UTC, 1:40 of the 19th in Tokyo
    cms("key", "create", "Website")
    assert "  2026-11-19  " in cms("key", "list").out


# On a terminal


class Terminal:
    """A ``cms`` that somebody sits in front of."""

    def __init__(self, process: Copy | subprocess.Popen[str], descriptor: int) -> None:
        self.process = process
        self.shown = ""
        self._descriptor = descriptor

    def wait_for(self, text: str) -> None:
        """Read the screen until it shows a text, once more with each call."""
        while text not in self.shown:
            readable, _, _ = select.select([self._descriptor], [], [], 30)
            assert readable, f"{text!r} did not come in 30 s: {self.shown!r}"
            try:
                data = os.read(self._descriptor, 4096)
            except OSError:  # how Linux says that the other end is closed
                data = b""
            assert data, f"{text!r} never came: {self.shown!r}"
            self.shown += data.decode()
        self.shown = self.shown.partition(text)[2]

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def interrupt(self) -> None:
        """Ctrl-C, once more where the first came just before the command began to wait for an answer."""
        for _ in range(20):
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(1)
            except subprocess.TimeoutExpired:
                continue
            return

    def end(self) -> int:
        return self.process.wait(60)


@contextmanager
def terminal(*arguments: str) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    process = at_a_terminal(theirs, *arguments, env={"TERM": "dumb", "COLUMNS": "200"})
    try:
        yield Terminal(process, ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def test_on_a_terminal_a_key_stays_until_it_is_copied(cms: Cms) -> None:
    with terminal("key", "create", "Website") as person:
        person.wait_for("pq_")
        person.wait_for("Have you copied it? [y/N]")
        person.type("\n")
        person.wait_for("it cannot be shown again")
        person.wait_for("Have you copied it? [y/N]")
        assert person.process.poll() is None
        person.type("y\n")
        assert person.end() == 0
    assert len(cms("key", "list", "--json").json) == 1


def test_leaving_before_it_is_copied_says_what_to_do(cms: Cms) -> None:
    with terminal("key", "create", "Website") as person:
        person.wait_for("[y/N]")
        person.interrupt()
        (key,) = cms("key", "list", "--json").json
        person.wait_for(f"If you did not copy it, delete it: `cms key delete {key['prefix']}`")
        assert person.end() not in {0, 2}


@pytest.mark.parametrize("option", ["--yes", "--json"])
def test_on_a_terminal_nothing_is_asked_with_an_option(cms: Cms, option: str) -> None:
    with terminal("key", "create", "Website", option) as person:
        person.wait_for("pq_")
        assert person.end() == 0


def test_on_a_terminal_delete_asks_first(cms: Cms) -> None:
    prefix = cms("key", "create", "Website", "--json").json["prefix"]
    for said, status, left in (("\n", 1, 1), ("n\n", 1, 1), ("\x04", 1, 1), ("y\n", 0, 0)):
        with terminal("key", "delete", prefix) as person:
            person.wait_for(f'Delete key {prefix} ("Website", all APIs)? Applications using it get 401 at once. [y/N]')
            person.type(said)
            assert person.end() == status, said
        assert len(cms("key", "list", "--json").json) == left
    prefix = cms("key", "create", "Website", "--json").json["prefix"]
    with terminal("key", "delete", prefix, "--yes") as person:
        person.wait_for("is deleted")
        assert person.end() == 0


@pytest.mark.slow
def test_a_killed_edit_leaves_the_old_key_or_the_new_one(cms: Cms, tmp_path: Path) -> None:
    prefix = cms("key", "create", "old", "--json").json["prefix"]
    file = AccessFile(tmp_path / ".cms/site")
    before = file.read()
    chance = random.Random(1)
    began = time.monotonic()
    cms_process("key", "edit", prefix, "--name", "old").wait(60)
    usual = time.monotonic() - began
    names = ("new", "old")
    for turn in range(8):
        process = cms_process("key", "edit", prefix, "--name", names[turn % 2])
        time.sleep(chance.uniform(0.4, 1.1) * usual)
        process.send_signal(signal.SIGKILL)
        process.wait(60)
        after = file.read()
        assert before is not None
        assert after is not None
        assert after.draft_secret == before.draft_secret
        (key,) = after.keys
        assert key.name in names
        assert (key.hash, key.period, key.scope) == (before.keys[0].hash, before.keys[0].period, before.keys[0].scope)
    assert cms("key", "edit", prefix, "--name", "at last", "--json").json["name"] == "at last"
    assert not list((tmp_path / ".cms/site").glob(".*.tmp"))


def cms_process(*arguments: str) -> subprocess.Popen[bytes]:
    root = Path(__file__).resolve().parents[3]
    return subprocess.Popen(
        [*CMS, *arguments],
        env={**os.environ, "PYTHONPATH": f"{root}:{os.environ['PYTHONPATH']}"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

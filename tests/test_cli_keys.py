"""``cms key``: issuing, showing and changing keys from the command line."""

from __future__ import annotations

import re
from datetime import date, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from engine.keys import is_key_text, local_date
from snapshots.times import now_ms
from tests.command_line import Cms, in_process, write_workspace

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
    assert f'"Website" for all APIs of workspace "site" (Until {today() + timedelta(days=90)})' in ran.err
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
    header, row = cms("key", "list").out.splitlines()
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

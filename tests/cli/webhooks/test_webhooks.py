"""``cms webhook``: adding receivers, looking at them, trying them and changing them from the command line."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook

from server.dev.unpublished import unpublished
from server.serving_note import ServingNote
from snapshots.store.store import Store, open_store
from tests.engine.webhooks.test_post import answering
from tests.programs.command_line import Cms
from tests.servers.webhook_receiver import Reply, receiver

URL = "https://www.example.com/hooks/content?token=tell-nobody"
MEMBERS = [
    "id",
    "workspace",
    "url",
    "format",
    "apis",
    "langs",
    "reasons",
    "state",
    "createdAt",
    "toldUntil",
    "failures",
    "nextTry",
    "attempts",
]


@pytest.fixture
def cms(cms_in_copy: Cms) -> Cms:
    return cms_in_copy


@contextmanager
def serving_noted(store: Store, address: str) -> Iterator[None]:
    note = ServingNote(store, address)
    note.begin()
    try:
        yield
    finally:
        note.end()


def test_beside_cms_dev_a_new_webhook_says_what_sends_events(cms: Cms, tmp_path: Path) -> None:
    warning = "warning: `cms dev` runs here, and sends no webhooks"
    session = unpublished(open_store(tmp_path / ".cms"))
    with serving_noted(session, "http://127.0.0.1:8787"):
        assert warning in cms("webhook", "add", URL).err
        with serving_noted(open_store(tmp_path / ".cms"), "http://127.0.0.1:8788"):
            assert warning not in cms("webhook", "add", URL).err
    assert warning not in cms("webhook", "add", URL).err


def stored(tmp_path: Path) -> Any:
    return json.loads((tmp_path / ".cms/site/webhooks.json").read_text(encoding="utf-8"))["endpoints"]


def added(cms: Cms, *arguments: str) -> Any:
    ran = cms("webhook", "add", *(arguments or (URL,)), "--json")
    assert ran.status == 0, ran.err
    return ran.json


def test_a_new_webhook_has_a_secret_that_is_printed_once(cms: Cms, tmp_path: Path) -> None:
    ran = cms("webhook", "add", URL)
    secret = ran.out.removesuffix("\n")
    assert (ran.status, secret[:6]) == (0, "whsec_")
    assert 'reports changes to all APIs of workspace "site"' in ran.err
    file = tmp_path / ".cms/site/webhooks.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    (endpoint,) = stored(tmp_path)
    for command in (["list"], ["list", "--json"], ["show", endpoint["id"]], ["show", endpoint["id"], "--json"]):
        shown = cms("webhook", *command)
        assert shown.status == 0
        assert secret not in shown.out + shown.err


def test_json_has_all_facts_and_the_secret_where_it_is_new(cms: Cms) -> None:
    version = cms("snapshot", "list", "--json").json[0]["version"]
    made = added(cms, URL, "--api", "blog", "--lang", "de", "--reason", "flip", "--reason", "rollback")
    assert list(made) == [*MEMBERS, "secret"]
    assert made["toldUntil"].startswith(f"{version}@")
    facts = {name: made[name] for name in ("workspace", "url", "format", "apis", "langs", "reasons", "state")}
    assert facts == {
        "workspace": "site",
        "url": URL,
        "format": "standard",
        "apis": ["blog"],
        "langs": ["de"],
        "reasons": ["rollback", "flip"],
        "state": "active",
    }
    assert list(cms("webhook", "show", made["id"], "--json").json) == MEMBERS
    (listed,) = cms("webhook", "list", "--json").json
    assert listed == {name: made[name] for name in MEMBERS}
    shown = cms("webhook", "show", made["id"][3:9]).out
    assert "blog in de (rollback, flip only)" in shown


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["http://www.example.com/"], 1, "https only"),
        (["https://127.0.0.1/"], 1, "not a public address"),
        (["https://user:secret@www.example.com/"], 1, "user or a password"),
        (["nonsense"], 1, "whole URL"),
        ([URL, "--api", "blok"], 1, 'Did you mean "blog"?'),
        ([URL, "--lang", "fr"], 1, 'no language "fr"'),
        ([URL, "--reason", "mood"], 2, "activation, rollback, flip"),
        ([URL, "--format", "carrier-pigeon"], 2, "standard, microcms, fastly, cloudflare"),
        ([URL, "--format", "fastly"], 1, "--token-file FILE"),
        ([], 2, "URL"),
    ],
)
def test_what_cannot_be_added_is_refused_with_the_reason(
    cms: Cms, tmp_path: Path, arguments: list[str], status: int, message: str
) -> None:
    ran = cms("webhook", "add", *arguments)
    assert (ran.status, ran.out) == (status, "")
    assert message in ran.err
    assert "secret@" not in ran.err
    assert not (tmp_path / ".cms/site/webhooks.json").exists()


def test_the_token_of_a_cdn_is_kept_and_never_shown(cms: Cms, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("tell-nobody-this\n")
    url = "https://api.fastly.com/service/abc/purge"
    made = added(cms, url, "--format", "fastly", "--token-file", str(token))
    assert made["secret"] is None
    assert stored(tmp_path)[0]["token"] == "tell-nobody-this"
    for command in (["list", "--json"], ["show", made["id"]], ["show", made["id"], "--json"]):
        assert "tell-nobody-this" not in cms("webhook", *command).out
    token.write_text("another-one\n")
    assert cms("webhook", "rotate", made["id"], "--token-file", token).status == 0
    assert stored(tmp_path)[0]["token"] == "another-one"
    token.write_text("two words\n")
    refused = cms("webhook", "rotate", made["id"], "--token-file", token)
    assert (refused.status, "no request header" in refused.err, "two words" in refused.err) == (1, True, False)
    standard = cms("webhook", "add", URL, "--token-file", token)
    assert (standard.status, "takes no token" in standard.err) == (1, True)


def test_the_secret_is_exchanged(cms: Cms, tmp_path: Path) -> None:
    made = added(cms)
    new = cms("webhook", "rotate", made["id"], "--json").json
    assert new["secret"] not in (None, made["secret"])
    newest, old = stored(tmp_path)[0]["secrets"]
    assert (newest["text"], newest["until"], old["text"]) == (new["secret"], None, made["secret"])
    ran = cms("webhook", "rotate", made["id"], "--overlap", "0")
    assert "The old secret no longer signs anything." in ran.err
    assert [one["text"] for one in stored(tmp_path)[0]["secrets"]] == [ran.out.strip()]


def test_disabled_enabled_and_deleted(cms: Cms, tmp_path: Path) -> None:
    made = added(cms)
    assert cms("webhook", "disable", made["id"], "--json").json["state"] == "disabled"
    assert "disabled" in cms("webhook", "list").out
    assert cms("webhook", "enable", made["id"], "--json").json["state"] == "active"
    assert cms("webhook", "delete", made["id"]).out == f"Webhook {made['id']} is deleted.\n"
    assert stored(tmp_path) == []
    assert "has no webhooks yet" in cms("webhook", "list").err
    assert cms("webhook", "list", "--json").json == []


@pytest.mark.parametrize("command", ["show", "test", "replay", "rotate", "disable", "enable", "delete"])
def test_an_unknown_or_ambiguous_id_is_an_error(cms: Cms, tmp_path: Path, command: str) -> None:
    assert 'No webhook begins with "wh_nope"' in cms("webhook", command, "nope").err
    assert not (tmp_path / ".cms/site/webhooks.json").exists()
    added(cms)
    added(cms)
    ran = cms("webhook", command, "wh_", "--json")
    assert (ran.status, "Several webhooks" in ran.json["error"]) == (1, True)


def test_replay_sets_back_to_a_point(cms: Cms) -> None:
    made = added(cms)
    none = cms("webhook", "replay", made["id"])
    assert (none.status, "has not been sent anything yet" in none.err) == (1, True)
    point = re.sub("@.*", "@2026-01-01T00:00:00.000Z", made["toldUntil"])
    assert cms("webhook", "replay", made["id"], "--since", point, "--json").json["toldUntil"] == point
    assert cms("webhook", "replay", made["id"], "--since", "yesterday").status == 2


def test_a_test_event_goes_out_at_once_and_its_answer_is_printed(
    cms: Cms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CMS_WEBHOOK_ALLOW_LOOPBACK", "1")
    with receiver(tmp_path) as hooked:
        monkeypatch.setenv("SSL_CERT_FILE", str(hooked.ca))
        made = added(cms, hooked.url())
        assert "accepted a test event: 200" in cms("webhook", "test", made["id"]).out
        (event,) = hooked.received
        said = Webhook(made["secret"]).verify(event.body, event.headers)
        assert (said["type"], said["workspace"], said["data"]["endpoint"]) == ("webhook.test", "site", made["id"])
        hooked.reply = lambda _: Reply(404)
        ran = cms("webhook", "test", made["id"])
        assert (ran.status, "it answered 404" in ran.err) == (1, True)
        document = cms("webhook", "test", made["id"], "--json")
        assert document.status == 1
        assert {**document.json, "seconds": 0} == {
            "id": made["id"],
            "accepted": False,
            "status": 404,
            "problem": "it answered 404",
            "seconds": 0,
        }
        with answering(b"HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n") as port:
            switching = added(cms, f"http://localhost:{port}/")
            ran = cms("webhook", "test", switching["id"])
            assert (ran.status, "it answered 101" in ran.err, "Traceback" in ran.err) == (1, True, False)
        monkeypatch.delenv("CMS_WEBHOOK_ALLOW_LOOPBACK")
        assert "not a public address" in cms("webhook", "test", made["id"]).err
        assert len(hooked.received) == 3


def test_a_damaged_file_is_named_and_never_overwritten(cms: Cms, tmp_path: Path) -> None:
    file = tmp_path / ".cms/site/webhooks.json"
    for damage in ("", "{", '{"format": 1}', "[]", '{"format": 99, "writes": [], "endpoints": []}'):
        file.write_text(damage)
        for command in (["list"], ["add", URL]):
            ran = cms("webhook", *command)
            assert (ran.status, "webhooks.json" in ran.err) == (1, True)
        assert file.read_text() == damage


@pytest.mark.parametrize(
    ("spoilt", "said"),
    [
        ({"secrets": []}, "It needs secrets to sign with"),
        ({"secrets": [{"text": "hand-made", "until": None}]}, "It needs secrets to sign with"),
        ({"url": "ftp://www.example.com"}, "A webhook needs a whole URL"),
        ({"format": "fastly", "token": None}, "The format fastly needs a token."),
    ],
)
def test_what_can_never_be_told_is_damage(cms: Cms, tmp_path: Path, spoilt: dict[str, object], said: str) -> None:
    made = added(cms)
    file = tmp_path / ".cms/site/webhooks.json"
    document = json.loads(file.read_text())
    document["endpoints"] = [{**document["endpoints"][0], **spoilt}]
    file.write_text(json.dumps(document))
    ran = cms("webhook", "list")
    assert (ran.status, f"webhook {made['id']}: {said}" in " ".join(ran.err.split())) == (1, True)


def test_there_are_at_most_a_hundred(cms: Cms, tmp_path: Path) -> None:
    added(cms)
    file = tmp_path / ".cms/site/webhooks.json"
    document = json.loads(file.read_text())
    document["endpoints"] = [{**document["endpoints"][0], "id": f"wh_{n}"} for n in range(100)]
    file.write_text(json.dumps(document))
    ran = cms("webhook", "add", URL)
    assert (ran.status, "100 webhooks already" in ran.err) == (1, True)

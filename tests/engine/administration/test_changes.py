"""Every change that a person makes stands in the audit log: who, from where, what, and that it failed if it did."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.access.audit.log import AuditLog, Author, Entry, Via
from engine.access.keys.access import KeyChange, UnknownKey
from engine.access.keys.keys import InvalidKeySettings
from engine.administration.administrator import Administrator, operator
from engine.administration.keys import (
    delete_key,
    disable_key,
    edit_key,
    enable_key,
    exchange_draft_secret,
    issue_key,
)
from engine.administration.versions import activate, prune, recorded_build, roll_back
from engine.administration.webhooks import (
    add_webhook,
    delete_webhook,
    disable_webhook,
    enable_webhook,
    replace_token,
    replay,
    rotate_secret,
)
from engine.webhooks.endpoint import Endpoint, InvalidWebhook
from snapshots.build.build import build
from snapshots.problems import ParquetryError
from snapshots.store.current import ActivationConflict
from snapshots.store.durable import StoreError
from snapshots.times import now_ms
from snapshots.whoami import whoami
from tests.sites.served_site import Site

ROOT = Path(__file__).parents[3]
NOW = 1_800_000_000_000  # 15 January 2027
OLGA = Author("olga@acme.example", "owner", Via.CONSOLE)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture
def olga(site: Site) -> Administrator:
    site.publish("one")
    return Administrator(site.place, OLGA, NOW)


def logged(site: Site, month: str = "2027-01") -> list[Entry]:
    """The changes, the first one first."""
    return AuditLog(site.place.objects, site.place.id).entries(month)[::-1]


def said(site: Site) -> list[tuple[str, str]]:
    return [(one.action, one.sentence) for one in logged(site)]


def test_keys(site: Site, olga: Administrator) -> None:
    facts = site.place.manifest(site.place.versions()[0]).workspace
    key, text = issue_key(olga, facts, name="Web", scope=None)
    assert text.startswith(key.prefix)
    edit_key(olga, facts, key.prefix, KeyChange(name="Shop", scope=frozenset({"api_posts0000001"}), validity="none"))
    edit_key(olga, facts, "Shop", KeyChange(rate_limit=1200))
    disable_key(olga, key.prefix)
    enable_key(olga, key.prefix)
    exchange_draft_secret(olga)
    delete_key(olga, key.prefix)
    assert said(site) == [
        ("key_issued", "Issued the key “Web”, valid from 2027-01-15 to 2027-04-15."),
        (
            "key_changed",
            f"Changed the key “Web” ({key.prefix}): called “Shop” now; for posts; valid from 2027-01-15 without end.",
        ),
        ("key_changed", f"Changed the key “Shop” ({key.prefix}): 1,200 requests a minute."),
        ("key_disabled", f"Disabled the key “Shop” ({key.prefix})."),
        ("key_enabled", f"Enabled the key “Shop” ({key.prefix})."),
        ("draft_keys_changed", "Changed every derived draft key."),
        ("key_deleted", f"Deleted the key “Shop” ({key.prefix})."),
    ]
    assert {(one.at, one.author, one.failure) for one in logged(site)} == {(NOW, OLGA, None)}
    assert text not in (site.place.directory / "audit" / "2027-01.ndjson").read_text()


def test_what_cannot_be_asked_for_is_no_change(site: Site, olga: Administrator) -> None:
    facts = site.place.manifest(site.place.versions()[0]).workspace
    for wrong, error in (
        (lambda: issue_key(olga, facts, name="", scope=None), InvalidKeySettings),
        (lambda: issue_key(olga, facts, name="Web", scope=None, validity="2y"), InvalidKeySettings),
        (lambda: edit_key(olga, facts, "pq_none", KeyChange(name="x")), UnknownKey),
        (lambda: delete_key(olga, "pq_none"), UnknownKey),
    ):
        with pytest.raises(error):
            wrong()  # type: ignore[no-untyped-call]
    with pytest.raises(ParquetryError):
        add_webhook(olga, "http://127.0.0.1/", **SETTINGS)  # type: ignore[arg-type]
    with pytest.raises(ParquetryError):
        delete_webhook(olga, "wh_none")
    assert logged(site) == []


def test_versions(site: Site, olga: Administrator) -> None:
    one = site.place.versions()[0]
    two = site.publish("two", activate=False)
    activate(olga, two, expected=one)
    roll_back(olga, expected=two)
    with pytest.raises(ActivationConflict):
        activate(olga, two, expected=two)
    with pytest.raises(ActivationConflict):
        roll_back(olga, expected=two)  # somebody was quicker: found out before anything is noted
    three = site.publish("three")
    assert prune(olga, 1).removed == [two]
    assert prune(olga, 1).removed == []
    assert said(site) == [
        ("version_activated", f"Made {two} the current snapshot version, instead of {one}."),
        ("version_rolled_back", f"Rolled back from {two} to the previous snapshot version, {one}."),
        ("version_activated", f"Made {two} the current snapshot version, instead of {two}."),
        ("versions_deleted", f"Deleted old snapshot versions: {two}."),
    ]
    assert [bool(one.failure) for one in logged(site)] == [False, False, True, False]
    current = site.place.current()
    assert current is not None
    assert current.version == three


def test_there_is_nothing_to_go_back_to(site: Site, olga: Administrator) -> None:
    with pytest.raises(StoreError, match="no snapshot version was current before"):
        roll_back(olga)
    assert logged(site) == []


def test_builds(site: Site) -> None:
    def built(text: str, **options: bool) -> str:
        (site.source / "content" / "site.yaml").write_text(f"title: {text}\ncreatedAt: 2026-01-01\n")
        now = now_ms()
        return build(site.source, site.store, now=now, record=recorded_build(now), **options).version  # type: ignore[arg-type]

    one = built("one")
    two = built("two")
    again = built("one")
    assert built("one") == again == one  # nothing to do, and nothing noted
    three = built("three", activate=False)
    log = AuditLog(site.place.objects, site.place.id)
    found = [entry for month in reversed(log.months()) for entry in log.entries(month)[::-1]]
    assert [entry.sentence for entry in found] == [
        f"Built {one} and made it the current snapshot version.",
        f"Built {two} and made it the current snapshot version, instead of {one}.",
        f"Made {one} the current snapshot version, instead of {two}: a new build has the same content.",
        f"Built {three}, without making it current.",
    ]
    assert {entry.author for entry in found} == {Author(whoami(), "operator", Via.COMMAND_LINE)}


SETTINGS = {
    "form": "standard",
    "token": None,
    "apis": None,
    "langs": None,
    "reasons": None,
    "allow_loopback": False,
}


def test_webhooks_are_named_without_the_secret_parts_of_their_urls(site: Site, olga: Administrator) -> None:
    endpoint, secret = add_webhook(olga, "https://hooks.example/s3cret?token=t0ken", **SETTINGS)  # type: ignore[arg-type]
    purge = {**SETTINGS, "form": "fastly", "token": "first"}
    cdn, _ = add_webhook(olga, "https://api.fastly.com/service/abc", **purge)  # type: ignore[arg-type]
    disable_webhook(olga, endpoint.id)
    enable_webhook(olga, endpoint.id)
    rotate_secret(olga, endpoint.id, overlap=0)
    replace_token(olga, cdn.id, "second")
    with pytest.raises(InvalidWebhook):
        replay(olga, endpoint.id, None)  # it has been told nothing yet
    delete_webhook(olga, endpoint.id)
    named = f"the webhook {endpoint.id}, for hooks.example."
    assert said(site) == [
        ("webhook_added", "Added a webhook of the format standard, for hooks.example."),
        ("webhook_added", "Added a webhook of the format fastly, for api.fastly.com."),
        ("webhook_disabled", f"Disabled {named}"),
        ("webhook_enabled", f"Enabled {named}"),
        ("webhook_secret_changed", f"Changed the signing secret of {named}"),
        ("webhook_token_changed", f"Changed the token of the webhook {cdn.id}, for api.fastly.com."),
        ("webhook_replayed", f"Had its last event sent again to {named}"),
        ("webhook_deleted", f"Deleted {named}"),
    ]
    text = (site.place.directory / "audit" / "2027-01.ndjson").read_text()
    for hidden in ("s3cret", "t0ken", "first", "second", str(secret)):
        assert hidden not in text


@pytest.mark.parametrize(
    "change",
    [
        lambda by, facts, _: issue_key(by, facts, name="New", scope=None),
        lambda by, facts, _: enable_key(by, "Web"),
        lambda by, facts, _: edit_key(by, facts, "Web", KeyChange(validity="none")),
        lambda by, facts, _: edit_key(by, facts, "Web", KeyChange(scope=frozenset({"api_site00000001"}))),
        lambda by, facts, webhook: disable_webhook(by, webhook.id),
        lambda by, facts, _: roll_back(by),
    ],
)
def test_without_a_log_nothing_is_changed(
    site: Site, change: Callable[[Administrator, object, Endpoint], object]
) -> None:
    by = operator(site.place, NOW)
    site.publish("one")
    site.publish("two")
    facts = site.place.manifest(site.place.versions()[0]).workspace
    issue_key(by, facts, name="Web", scope=frozenset({"api_posts0000001"}))
    webhook, _ = add_webhook(by, "https://hooks.example/", **SETTINGS)  # type: ignore[arg-type]
    log = site.place.directory / "audit" / "2027-01.ndjson"
    log.unlink()
    log.mkdir()
    files = [site.place.directory / name for name in ("access.json", "webhooks.json", "current")]
    before = [file.read_bytes() for file in files]
    with pytest.raises(StoreError):
        change(by, facts, webhook)
    assert [file.read_bytes() for file in files] == before


UNRECORDED = {
    "engine.access.keys.access": {
        "issue_key",
        "edit_key",
        "disable_key",
        "enable_key",
        "delete_key",
        "new_draft_secret",
    },
    "engine.webhooks.editing": {"add_endpoint", "disable_endpoint", "enable_endpoint", "delete_endpoint"}
    | {"rotate_secret", "replace_token", "replay", "change_endpoint"},
}
MOVES = {"activate", "rollback", "prune", "prune_left", "withdraw"}
OWN_STORE = {"server/dev/builds.py", "server/dev/session_key.py", "server/mirror/followed.py"}
"""What works on a store of its own, which nobody else sees."""


def unrecorded(source: str) -> set[str]:
    """The functions that a module calls or imports which change a store without a note."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            found |= {one.name for one in node.names} & UNRECORDED.get(node.module or "", set())
        elif isinstance(node, ast.Attribute) and node.attr in MOVES and ast.unparse(node.value) != "administration":
            found.add(node.attr)
    return found


def test_the_console_and_the_commands_change_nothing_past_the_log() -> None:
    modules = [path for folder in ("cli", "server") for path in sorted((ROOT / folder).rglob("*.py"))]
    assert len(modules) > 100
    found = {path.relative_to(ROOT).as_posix(): unrecorded(path.read_text(encoding="utf-8")) for path in modules}
    assert {path for path, names in found.items() if names} == OWN_STORE
    assert unrecorded("from engine.access.keys.access import delete_key") == {"delete_key"}
    assert unrecorded("workspace_store.activate(1)") == {"activate"}
    assert unrecorded("administration.activate(1)") == set()

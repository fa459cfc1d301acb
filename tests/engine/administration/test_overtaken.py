"""What a change returns is what is stored, also where somebody else was quicker and it was computed a second time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date
from pathlib import Path

import pytest
from msgspec.structs import replace

from engine.access.audit.log import AuditLog, Author, Entry, Via
from engine.access.expiry.ledger import LedgerFile, MailId, MailRecord
from engine.access.keys import access
from engine.access.keys.access import AccessFile, KeyChange, Keyring, KeyTaken, UnknownKey
from engine.access.keys.keys import Key, new_key_id
from engine.access.sign_in.people import member
from engine.access.sign_in.sign_ins import DOCUMENT, LinkUnusable, SignIns
from engine.webhooks import editing
from engine.webhooks.endpoint import Endpoint
from engine.webhooks.webhooks_file import WEBHOOKS, WebhooksFile
from snapshots.problems import ParquetryError
from snapshots.store.changes import CHANGES, announce, changes_document
from snapshots.store.locations import open_objects
from snapshots.store.objects import Conflict
from tests.stores.quicker import quicker

NOW = 1_800_000_000_000
OLGA = member("olga@acme.example")


def issue(file: AccessFile, name: str, **settings: str) -> tuple[Key, str]:
    return access.issue_key(file, name=name, scope=None, now=NOW, zone=UTC, **settings)


@pytest.fixture
def file(tmp_path: Path) -> AccessFile:
    return AccessFile(tmp_path / "acme")


def stored(file: AccessFile) -> dict[str, Key]:
    found = file.read()
    assert found is not None
    return {key.prefix: key for key in found.keys}


def test_a_key_that_is_issued_is_the_one_that_is_stored(file: AccessFile) -> None:
    with quicker(access.ACCESS, lambda: issue(file, "theirs")):
        key, text = issue(file, "mine")
    found = file.read()
    assert found is not None
    assert stored(file)[key.prefix] == key
    assert Keyring({"acme": found}).authorize(text.encode(), "acme", NOW, UTC) == key
    assert [key.name for key in found.keys] == ["theirs", "mine"]


def test_a_key_that_may_be_issued_once_is_issued_once(file: AccessFile) -> None:
    mark = new_key_id()
    with quicker(access.ACCESS, lambda: issue(file, "mine", key_id=mark)), pytest.raises(KeyTaken):
        issue(file, "mine", key_id=mark)
    assert len(stored(file)) == 1


def test_changes_of_a_key_made_at_once_all_hold(file: AccessFile) -> None:
    prefix = issue(file, "before")[0].prefix

    def rename(name: str) -> Key:
        return access.edit_key(file, prefix, KeyChange(name=name), now=NOW, zone=UTC)

    with quicker(access.ACCESS, lambda: access.disable_key(file, prefix)):
        renamed = rename("renamed")
    assert stored(file) == {prefix: renamed}
    assert (renamed.name, renamed.disabled) == ("renamed", True)
    with quicker(access.ACCESS, lambda: rename("again")):
        enabled = access.enable_key(file, prefix)
    assert stored(file) == {prefix: enabled}
    assert (enabled.name, enabled.disabled) == ("again", False)
    with quicker(access.ACCESS, lambda: rename("at last")):
        disabled = access.disable_key(file, prefix)
    assert stored(file) == {prefix: disabled}
    assert (disabled.name, disabled.disabled) == ("at last", True)
    with quicker(access.ACCESS, lambda: rename("what it was")):
        deleted = access.delete_key(file, prefix)
    assert stored(file) == {}
    assert deleted == replace(disabled, name="what it was")


def test_what_only_took_rights_away_when_it_was_asked_for_gives_none_meanwhile(file: AccessFile) -> None:
    prefix = issue(file, "one")[0].prefix

    def narrow(*apis: str) -> Key:
        change = KeyChange(scope=frozenset(apis))
        return access.edit_key(file, prefix, change, now=NOW, zone=UTC, takes_away=True)

    with quicker(access.ACCESS, lambda: narrow("a")), pytest.raises(Conflict, match="was changed by somebody else"):
        narrow("a", "b")
    assert stored(file)[prefix].scope == {"a"}
    assert narrow("a").scope == {"a"}, "what somebody else has done already is no conflict"


def test_a_key_that_somebody_deletes_meanwhile_is_gone(file: AccessFile) -> None:
    prefix, other = issue(file, "one")[0].prefix, issue(file, "other")[0]
    with quicker(access.ACCESS, lambda: access.delete_key(file, prefix)), pytest.raises(UnknownKey):
        access.disable_key(file, prefix)
    assert stored(file) == {other.prefix: other}


def test_a_new_draft_secret_is_the_one_that_is_stored(file: AccessFile) -> None:
    issue(file, "one")
    with quicker(access.ACCESS, lambda: issue(file, "two")):
        returned = access.new_draft_secret(file)
    assert returned == file.read()
    assert len(returned.keys) == 2


def test_a_first_key_does_not_take_the_draft_secret_of_another_first_key(file: AccessFile) -> None:
    secrets = []

    def theirs() -> None:
        issue(file, "theirs")
        found = file.read()
        assert found is not None
        secrets.append(found.draft_secret)

    with quicker(access.ACCESS, theirs):
        issue(file, "mine")
    found = file.read()
    assert found is not None
    assert [found.draft_secret] == secrets


@dataclass
class Asked:
    """What was returned to those who asked for a link at the same time."""

    quicker: str | None = None
    slower: str | None = None


def test_of_two_letters_to_a_member_at_once_one_holds_a_link(tmp_path: Path) -> None:
    sign_ins, asked = SignIns(open_objects(tmp_path)), Asked()

    def theirs() -> None:
        asked.quicker = sign_ins.new_mailed_link(OLGA, "browser", NOW)

    with quicker(DOCUMENT, theirs):
        asked.slower = sign_ins.new_mailed_link(OLGA, "browser", NOW)
    returned = [token for token in (asked.quicker, asked.slower) if token is not None]
    assert returned
    assert all(sign_ins.link(token, NOW) is not None for token in returned)


def test_a_link_is_used_by_one_of_two_at_once(tmp_path: Path) -> None:
    sign_ins = SignIns(open_objects(tmp_path))
    token = sign_ins.new_link(OLGA, NOW)
    with quicker(DOCUMENT, lambda: sign_ins.use(token, None, NOW)), pytest.raises(LinkUnusable):
        sign_ins.use(token, None, NOW)
    assert sign_ins.end_all(OLGA, NOW) == 1


def test_all_sessions_that_end_are_counted(tmp_path: Path) -> None:
    sign_ins = SignIns(open_objects(tmp_path))
    sign_ins.complete("first", OLGA, NOW)
    with quicker(DOCUMENT, lambda: sign_ins.complete("second", OLGA, NOW)):
        assert sign_ins.end_all(OLGA, NOW) == 2
    assert sign_ins.end_all(OLGA, NOW) == 0


def add(file: WebhooksFile, url: str = "https://example.com/hook") -> Endpoint:
    endpoint, _ = editing.add_endpoint(
        file,
        url,
        form="standard",
        token=None,
        apis=None,
        langs=None,
        reasons=None,
        current=None,
        allow_loopback=False,
        now=NOW,
    )
    return endpoint


def test_a_webhook_that_is_changed_is_the_one_that_is_stored(tmp_path: Path) -> None:
    file = WebhooksFile(open_objects(tmp_path), "acme")
    first = add(file)
    with quicker(WEBHOOKS, lambda: add(file, "https://example.com/other")):
        second = add(file, "https://example.com/third")
    with quicker(WEBHOOKS, lambda: editing.rotate_secret(file, first.id, overlap=1000, now=NOW)):
        disabled = editing.disable_endpoint(file, first.id, NOW)
    assert disabled == editing.find_endpoint(file.read(), first.id)
    assert (len(disabled.secrets), disabled.stopped is not None) == (2, True)
    with quicker(WEBHOOKS, lambda: editing.disable_endpoint(file, second.id, NOW)):
        changed, secret = editing.rotate_secret(file, second.id, overlap=0, now=NOW)
    assert changed == editing.find_endpoint(file.read(), second.id)
    assert [one.text for one in changed.secrets] == [secret]
    with quicker(WEBHOOKS, lambda: editing.enable_endpoint(file, second.id, NOW)):
        deleted = editing.delete_endpoint(file, second.id)
    assert deleted == replace(changed, stopped=None)
    with quicker(WEBHOOKS, lambda: editing.delete_endpoint(file, first.id)), pytest.raises(editing.UnknownWebhook):
        editing.delete_endpoint(file, first.id)
    assert [one.url for one in file.read()] == ["https://example.com/other"]


def test_a_change_that_fails_is_told_of_the_line_that_is_stored(tmp_path: Path) -> None:
    log = AuditLog(open_objects(tmp_path), "acme")
    author = Author("olga@acme.example", "owner", Via.CONSOLE)

    def theirs() -> None:
        with log.recorded(Entry(NOW, author, "key_issued", "theirs")):
            pass

    with (
        pytest.raises(ParquetryError),
        quicker("2027-01.ndjson", theirs),
        log.recorded(Entry(NOW, author, "key_issued", "mine")),
    ):
        raise ParquetryError("It cannot be.")
    assert [(one.sentence, one.failure) for one in log.entries("2027-01")] == [
        ("mine", "It cannot be."),
        ("theirs", None),
    ]


def test_a_ledger_holds_the_mails_of_all(tmp_path: Path) -> None:
    file = LedgerFile(tmp_path / "acme")
    mine, theirs = (MailId("key", date(2027, 1, day), "a@example.com") for day in (1, 2))
    record = MailRecord(1, NOW)
    with quicker("expiry_mails.json", lambda: file.change(lambda mails: {**mails, theirs: record})):
        returned = file.change(lambda mails: {**mails, mine: record})
    assert returned == file.read() == {theirs: record, mine: record}


def test_a_hint_keeps_the_hints_of_others(tmp_path: Path) -> None:
    objects = open_objects(tmp_path)
    with quicker(CHANGES, lambda: announce(objects, "beta")):
        announce(objects, "acme")
    assert set(changes_document(objects).read()) == {"acme", "beta"}

"""access.json and who may read (contract 3.2, 5 and 7; decisions 1, 26, 27 and 44)."""

from __future__ import annotations

import json
import os
import random
import stat
import subprocess
import sys
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from engine.access.keys import access
from engine.access.keys.access import (
    ACCESS_CODEC,
    AccessFile,
    AccessList,
    KeyRejected,
    Keyring,
    UnknownKey,
    WrongWorkspace,
)
from engine.access.keys.keys import InvalidKeySettings, Key, Period
from snapshots.store.document import DamagedDocument
from snapshots.store.durable import StoreError

TOKYO = ZoneInfo("Asia/Tokyo")
NOW = round(datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp() * 1000)
TODAY = date(2026, 11, 21)
ROOT = Path(__file__).resolve().parents[4]


def issue(file: AccessFile, name: str = "Site", **settings: Any) -> tuple[Key, str]:
    return access.issue_key(file, name=name, scope=None, now=NOW, zone=TOKYO, **settings)


def keys_in(file: AccessFile) -> tuple[Key, ...]:
    found = file.read()
    assert found is not None
    return found.keys


def test_the_file(tmp_path: Path) -> None:
    file = AccessFile(tmp_path / "acme")
    assert file.read() is None
    assert not (tmp_path / "acme").exists(), "reading leaves nothing behind"
    key, text = issue(file)
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    data = file.path.read_text()
    assert text not in data
    assert text[11:36] not in data
    assert keys_in(file) == (key,)
    assert text.startswith(key.prefix)
    assert key.period == Period(TODAY, date(2027, 2, 19))
    (stored,) = json.loads(data)["keys"]
    assert stored["hash"] == key.hash
    assert stored["createdAt"] == "2026-11-21T12:00:00.000Z"


def test_lifecycle(tmp_path: Path) -> None:
    file = AccessFile(tmp_path)
    key, _ = issue(file, validity="30d", rate_limit=10)
    other, _ = issue(file, "Other")

    def edit(**changes: Any) -> Key:
        return access.edit_key(file, key.prefix, access.KeyChange(**changes), now=NOW, zone=TOKYO)

    assert edit() == key
    assert edit(name="  Shop ").name == "Shop"
    assert edit(scope=frozenset({"api_b", "api_a"})).scope == {"api_a", "api_b"}
    assert edit(scope=None).scope is None
    assert edit(rate_limit=None).rate_limit is None
    changed = edit(end=TODAY - timedelta(days=1), start=date(2026, 1, 1))
    assert changed.period == Period(date(2026, 1, 1), TODAY - timedelta(days=1))
    assert edit(validity="1y").period == Period(TODAY, date(2027, 11, 21))
    assert (changed.id, changed.prefix, changed.hash) == (key.id, key.prefix, key.hash)
    assert access.disable_key(file, key.prefix).disabled
    assert access.disable_key(file, key.prefix).disabled
    assert not access.enable_key(file, key.prefix).disabled
    assert keys_in(file) == (edit(), other), "the order is that of creation"
    assert access.delete_key(file, key.prefix).name == "Shop"
    assert keys_in(file) == (other,)
    with pytest.raises(UnknownKey):
        access.delete_key(file, key.prefix)


def test_refused_edits_change_nothing(tmp_path: Path) -> None:
    file = AccessFile(tmp_path)
    key, _ = issue(file)
    before = file.path.read_bytes()
    refused: list[dict[str, Any]] = [
        {"name": " "},
        {"scope": frozenset()},
        {"end": date(2040, 1, 1)},
        {"rate_limit": 0},
    ]
    for changes in refused:
        with pytest.raises(InvalidKeySettings):
            access.edit_key(file, key.prefix, access.KeyChange(**changes), now=NOW, zone=TOKYO)
    with pytest.raises(InvalidKeySettings):
        issue(file, "")
    assert file.path.read_bytes() == before


def test_looking_for_a_key_where_none_was_issued(tmp_path: Path) -> None:
    with pytest.raises(UnknownKey, match='No key begins with "pq_abc"'):
        access.delete_key(AccessFile(tmp_path / "nowhere"), "abc")
    assert not (tmp_path / "nowhere").exists()


def stored_key(prefix: str) -> Key:
    return Key(f"key_{prefix}", prefix, f"Name {prefix}", prefix, None, Period(TODAY, None), False, None, 0)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("pq_AAAAAAA1", "pq_AAAAAAA1"),
        ("AAAAAAA1", "pq_AAAAAAA1"),
        ("pq_B", "pq_BBBBBBBB"),
        ("B", "pq_BBBBBBBB"),
        ("pq_BBBBBBBB_secret-part-pasted-too", "pq_BBBBBBBB"),
        ("Name pq_AAAAAAA2", "pq_AAAAAAA2"),
        ("pq_A", None),
        ("AAAAAAA", None),
        ("", None),
        ("pq_", None),
        ("b", None),
        ("pq_CCCCCCCC_secret", None),
        ("CCCCCCCC_secret", None),
        ("Name", None),
    ],
)
def test_keys_are_named_by_an_unambiguous_beginning(given: str, found: str | None) -> None:
    keys = [stored_key(prefix) for prefix in ("pq_AAAAAAA1", "pq_AAAAAAA2", "pq_BBBBBBBB")]
    if found:
        assert access.find_key(keys, given).prefix == found
    else:
        with pytest.raises(UnknownKey) as raised:
            access.find_key(keys, given)
        assert "secret" not in str(raised.value)


def test_ambiguous_beginning_names_the_candidates() -> None:
    keys = [stored_key(prefix) for prefix in ("pq_AAAAAAA1", "pq_AAAAAAA2")]
    with pytest.raises(UnknownKey, match=r'pq_AAAAAAA1 \("Name pq_AAAAAAA1"\), pq_AAAAAAA2'):
        access.find_key(keys, "AAA")


def test_a_name_of_two_keys_names_neither() -> None:
    keys = [replace(stored_key(prefix), name="Website") for prefix in ("pq_AAAAAAA1", "pq_BBBBBBBB")]
    with pytest.raises(UnknownKey, match=r'pq_AAAAAAA1 \("Website"\), pq_BBBBBBBB'):
        access.find_key(keys, "Website")
    keys.append(replace(stored_key("pq_CCCCCCCC"), name="B"))
    with pytest.raises(UnknownKey, match=r'pq_BBBBBBBB \("Website"\), pq_CCCCCCCC'):
        access.find_key(keys, "B")


def stored(**changes: Any) -> bytes:
    key = {
        "id": "key_1",
        "prefix": "pq_AAAAAAA1",
        "name": "Site",
        "hash": "0" * 64,
        "scope": "all",
        "start": "2026-11-21",
        "end": None,
        "disabled": False,
        "rateLimit": None,
        "createdAt": "2026-11-21T12:00:00.000Z",
    }
    return json.dumps({"format": 1, "draftSecret": "00" * 32, "keys": [{**key, **changes}]}).encode()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (stored()[:-10], "damaged"),
        (stored(prefix="AAAAAAA1"), "wrong form"),
        (stored(hash="0" * 63), "wrong form"),
        (stored(hash="Z" * 64), "wrong form"),
        (stored(disabled="no"), "damaged"),
        (stored(start="21.11.2026"), "damaged"),
        (stored(end="2026-11-20"), "ends before it starts"),
        (stored(scope="some"), "damaged"),
        (stored(createdAt="yesterday"), "damaged"),
        (stored(extra=1), "damaged"),
        (stored().replace(b'"format": 1', b'"format": 3'), "format 3 is newer"),
        (stored().replace(b"00" * 32, b"00" * 31, 1), "draft secret is shorter"),
        (stored().replace(b"00" * 32, b"zz" * 32, 1), "damaged"),
    ],
)
def test_a_damaged_file_is_refused_and_never_overwritten(tmp_path: Path, data: bytes, message: str) -> None:
    file = AccessFile(tmp_path)
    file.path.write_bytes(data)
    with pytest.raises(DamagedDocument, match=message):
        file.read()
    with pytest.raises(DamagedDocument):
        issue(file)
    assert file.path.read_bytes() == data


def test_the_same_prefix_twice_is_refused() -> None:
    (key,) = json.loads(stored())["keys"]
    data = json.dumps({"format": 1, "draftSecret": "00" * 32, "keys": [key, {**key, "id": "key_2"}]}).encode()
    with pytest.raises(DamagedDocument, match="two keys have the same prefix"):
        ACCESS_CODEC.decode(data, "access.json")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_an_unreadable_file_is_an_error(tmp_path: Path) -> None:
    file = AccessFile(tmp_path)
    issue(file)
    file.path.chmod(0)
    with pytest.raises(StoreError, match="permission denied"):
        file.read()


def test_new_draft_secret(tmp_path: Path) -> None:
    file = AccessFile(tmp_path)
    key, _ = issue(file)
    before = file.read()
    after = access.new_draft_secret(file)
    assert before is not None
    assert after.draft_secret != before.draft_secret
    assert keys_in(file) == (key,)


WRITER = """
import sys
from datetime import UTC
from pathlib import Path
from engine.access.keys import access
file = access.AccessFile(Path(sys.argv[1]))
prefix = sys.argv[2]
while True:
    for name in ("one", "two"):
        access.edit_key(file, prefix, access.KeyChange(name=name * 10), now=0, zone=UTC)
        print(flush=True)
"""


@pytest.mark.slow
def test_a_killed_writer_leaves_the_old_or_the_new_file(tmp_path: Path) -> None:
    file = AccessFile(tmp_path)
    key, _ = issue(file)
    chance = random.Random(2)
    for _ in range(8):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), key.prefix], cwd=ROOT, stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(chance.random() * 0.05)
        writer.kill()
        writer.communicate()
        (left,) = keys_in(file)
        assert left.name in {"one" * 10, "two" * 10}
        assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    access.disable_key(file, key.prefix)  # the lock of a killed writer holds nobody up
    assert {path.name for path in tmp_path.iterdir()} <= {"access.json", ".lock"}, "and its leftovers are gone"


# Who may read


def ring(tmp_path: Path) -> tuple[Keyring, AccessFile, dict[str, str]]:
    acme, other = AccessFile(tmp_path / "acme"), AccessFile(tmp_path / "other")
    texts = {
        "valid": issue(acme)[1],
        "coming": issue(acme, start=TODAY + timedelta(days=1))[1],
        "disabled": issue(acme)[1],
        "other": issue(other)[1],
    }
    access.disable_key(acme, texts["disabled"][:11])
    expired, texts["expired"] = issue(acme)
    access.edit_key(
        acme,
        expired.prefix,
        access.KeyChange(end=TODAY - timedelta(1), start=TODAY - timedelta(9)),
        now=NOW,
        zone=TOKYO,
    )
    both, texts["disabled and expired"] = issue(acme)
    access.edit_key(
        acme, both.prefix, access.KeyChange(end=TODAY - timedelta(1), start=TODAY - timedelta(9)), now=NOW, zone=TOKYO
    )
    access.disable_key(acme, both.prefix)
    lists = {"acme": acme.read(), "other": other.read()}
    return Keyring({name: found for name, found in lists.items() if found}), acme, texts


NOT_VALID = "This API key is not valid."


def test_authorize(tmp_path: Path) -> None:
    keyring, _, texts = ring(tmp_path)
    refusals: list[tuple[bytes | None, str, type[Exception], str]] = [
        (None, "acme", KeyRejected, "An API key is required."),
        (b"", "acme", KeyRejected, "An API key is required."),
        (b"\xff\x00junk", "acme", KeyRejected, NOT_VALID),
        (b"pq_AAAAAAAA", "acme", KeyRejected, NOT_VALID),
        (texts["valid"][:-1].encode(), "acme", KeyRejected, NOT_VALID),
        (texts["valid"].swapcase().encode(), "acme", KeyRejected, NOT_VALID),
        ((texts["valid"] + " ").encode(), "acme", KeyRejected, NOT_VALID),
        (texts["valid"][:11].encode() + b"_" + b"A" * 31, "acme", KeyRejected, NOT_VALID),
        (texts["valid"].encode(), "other", WrongWorkspace, "This API key belongs to another workspace."),
        (texts["other"].encode(), "acme", WrongWorkspace, "This API key belongs to another workspace."),
        (texts["valid"].encode(), "nowhere", WrongWorkspace, "This API key belongs to another workspace."),
        (b"unknown", "nowhere", KeyRejected, NOT_VALID),
        (texts["expired"].encode(), "other", WrongWorkspace, "This API key belongs to another workspace."),
        (texts["disabled"].encode(), "acme", KeyRejected, "This API key is disabled."),
        (texts["disabled and expired"].encode(), "acme", KeyRejected, "This API key is disabled."),
        (texts["coming"].encode(), "acme", KeyRejected, "This API key's validity period has not started yet."),
        (texts["expired"].encode(), "acme", KeyRejected, "This API key has expired."),
    ]
    for presented, workspace, kind, message in refusals:
        with pytest.raises(kind) as raised:
            keyring.authorize(presented, workspace, NOW, TOKYO)
        assert str(raised.value) == message, presented
    assert keyring.authorize(texts["valid"].encode(), "acme", NOW, TOKYO).prefix == texts["valid"][:11]


@pytest.mark.parametrize(
    ("zone", "moment", "message"),
    [
        ("Asia/Tokyo", "2026-11-20T14:59:59.999+00:00", "has not started yet"),
        ("Asia/Tokyo", "2026-11-20T15:00:00.000+00:00", None),
        ("Asia/Tokyo", "2026-11-22T14:59:59.999+00:00", None),
        ("Asia/Tokyo", "2026-11-22T15:00:00.000+00:00", "has expired"),
        ("America/New_York", "2026-11-21T04:59:59.999+00:00", "has not started yet"),
        ("America/New_York", "2026-11-21T05:00:00.000+00:00", None),
        ("America/New_York", "2026-11-23T04:59:59.999+00:00", None),
        ("America/New_York", "2026-11-23T05:00:00.000+00:00", "has expired"),
    ],
)
def test_validity_is_whole_days_of_the_workspace(tmp_path: Path, zone: str, moment: str, message: str | None) -> None:
    file = AccessFile(tmp_path)
    _, text = issue(file, start=TODAY, end=TODAY + timedelta(days=1))
    found = file.read()
    assert found is not None
    now = round(datetime.fromisoformat(moment).timestamp() * 1000)
    keyring = Keyring({"acme": found})
    if message is None:
        keyring.authorize(text.encode(), "acme", now, ZoneInfo(zone))
    else:
        with pytest.raises(KeyRejected, match=message):
            keyring.authorize(text.encode(), "acme", now, ZoneInfo(zone))


def test_workspaces_may_share_a_prefix() -> None:
    keyring = Keyring(
        {
            name: AccessList((_with_hash(stored_key("pq_AAAAAAA1"), text),), bytes(32))
            for name, text in (("one", b"pq_AAAAAAA1_x"), ("two", b"pq_AAAAAAA1_y"))
        }
    )
    assert keyring.authorize(b"pq_AAAAAAA1_x", "one", NOW, UTC)
    assert keyring.authorize(b"pq_AAAAAAA1_y", "two", NOW, UTC)
    with pytest.raises(WrongWorkspace):
        keyring.authorize(b"pq_AAAAAAA1_y", "one", NOW, UTC)


def _with_hash(key: Key, text: bytes) -> Key:
    from msgspec.structs import replace

    from engine.access.keys.keys import key_hash

    return replace(key, hash=key_hash(text))

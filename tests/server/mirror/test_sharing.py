"""What machines put into the store for each other: parts of the reader's cache, and the last uses of keys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.cache.parts import parts_of
from engine.cache.places import cache_places
from engine.keys.last_use import LAST_USE, LastUse, last_uses
from engine.making import materialise
from engine.making.shared_parts import SHARED, drop_shared, push_parts
from engine.reader.reader import open_reader
from server.mirror.last_use import GONE_MS, MACHINE
from server.mirror.mirror import ROUND_MS
from server.mirror.parts import LEASE
from snapshots.store.durable import StoreError
from snapshots.store.objects import ANY, Conflict, Expected
from tests.sites.bucket_site import BucketSite
from tests.stores.mirrored_machine import SECOND, Bucket, Machine


@pytest.fixture
def bucket(tmp_path: Path) -> Bucket:
    return Bucket(tmp_path / "bucket")


@pytest.fixture
def site(tmp_path: Path, bucket: Bucket) -> BucketSite:
    return BucketSite(tmp_path, bucket)


def machine(tmp_path: Path, bucket: Bucket, name: str) -> Machine:
    return Machine(tmp_path / name, bucket)


def read_titles(reading: Machine) -> set[str]:
    """Open the current version as a server does: the titles it has."""
    place, version = reading.store.workspace("acme"), reading.version()
    assert version is not None
    reader = open_reader(place.snapshots / version, place.manifest(version), reading.store.cache)
    try:
        api = reader.workspace.apis[0]
        return {json.loads(body)["title"] for body in reader.rows(api).bodies(range(3))}
    finally:
        reader.close()


def shared(bucket: Bucket) -> set[str]:
    """The keys of all files of shared parts."""
    return {one.key for one in bucket.names(f"acme/{SHARED}") if not one.key.endswith(LEASE)}


def test_what_one_machine_has_made_the_next_one_does_not(
    tmp_path: Path, site: BucketSite, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.release("one")
    first = machine(tmp_path, bucket, "first")
    first.poll()
    assert shared(bucket) == set(), "nobody has made anything yet"
    assert read_titles(first) == {"one"}
    first.poll()
    made = first.store.workspace("acme").manifest(first.version() or "")
    names = {part.name for parts in parts_of(made).values() for part in parts}
    assert {key.split("/")[3] for key in shared(bucket)} == names

    monkeypatch.setattr(materialise, "_make", lambda *_: pytest.fail("it was made once more"))
    second = machine(tmp_path, bucket, "second")
    second.poll()
    assert read_titles(second) == {"one"}
    before = shared(bucket)
    second.poll(after=ROUND_MS)
    assert shared(bucket) == before


@pytest.mark.parametrize("harm", ["missing file", "altered file", "damaged list", "missing list", "another's list"])
def test_a_damaged_part_is_made_anew(tmp_path: Path, site: BucketSite, bucket: Bucket, harm: str) -> None:
    site.release("one")
    first = machine(tmp_path, bucket, "first")
    first.poll()
    read_titles(first)
    first.poll()
    for key in shared(bucket):
        path = bucket.root / key
        is_list = key.endswith("/part.json")
        if harm.endswith("list") != is_list:
            continue
        data = path.read_bytes()
        path.unlink()
        if harm == "altered file":
            path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        elif harm == "damaged list":
            path.write_bytes(data[:-3])
        elif harm == "another's list":
            path.write_bytes(data.replace(b'"name":"bodies"', b'"name":"../../x"'))
    second = machine(tmp_path, bucket, "second")
    second.poll()
    assert second.is_whole()
    assert read_titles(second) == {"one"}
    assert not list(tmp_path.glob("**/x"))


def test_of_two_machines_that_share_one_part_each_leaves_one_whole_part(
    tmp_path: Path, site: BucketSite, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.release("one")
    machines = [machine(tmp_path, bucket, name) for name in ("first", "second")]
    for one in machines:
        one.poll()
        read_titles(one)
    manifest = machines[0].store.workspace("acme").manifest(machines[0].version() or "")
    parts = [part for of_api in parts_of(manifest).values() for part in of_api]
    places = [cache_places(one.store.cache, "acme") for one in machines]
    replace = bucket.replace

    def later(key: str, data: bytes, expected: str | Expected, *, private: bool = False) -> str:
        monkeypatch.setattr(bucket, "replace", replace)
        push_parts(bucket, "acme", places[1], parts)  # between the files and the list of the first
        return replace(key, data, expected, private=private)

    monkeypatch.setattr(bucket, "replace", later)
    push_parts(bucket, "acme", places[0], parts)
    for part in parts:
        keys = [key for key in shared(bucket) if part.name in key]
        assert len(keys) == 4, "three files and their list: those of the other one are gone"


def test_a_store_that_may_only_be_read_costs_one_line_in_the_log(
    tmp_path: Path, site: BucketSite, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    site.release("one")

    def refused(*_: object, **__: object) -> None:
        raise StoreError("cannot write: AccessDenied.")

    reading = machine(tmp_path, bucket, "reading")
    reading.poll()
    read_titles(reading)
    uses = LastUse(reading.store.root)
    for name in ("replace", "create", "delete"):
        monkeypatch.setattr(bucket, name, refused)
    for number in range(4):
        uses.note("acme", "key_1", reading.now + number)
        uses.write()
        reading.poll(after=ROUND_MS)
    told = [record.getMessage() for record in caplog.records if "AccessDenied" in record.getMessage()]
    assert len(told) == 2, told
    assert reading.page().reachable


def test_parts_of_dropped_versions_leave_the_store(tmp_path: Path, site: BucketSite, bucket: Bucket) -> None:
    reading = machine(tmp_path, bucket, "reading")
    manifests = []
    for text in ("one", "two"):
        version = site.release(text)
        reading.poll()
        read_titles(reading)
        reading.poll()
        manifests.append(site.place.manifest(version))
    bucket.create("acme/cache/layout-1/0011/part.json", b"{}")
    bucket.create("acme/cache/layout-999/0011/part.json", b"{}")
    drop_shared(bucket, "acme", manifests[1:])
    wanted = {part.name for parts in parts_of(manifests[1]).values() for part in parts}
    assert {key.split("/")[3] for key in shared(bucket)} == wanted | {"0011"}
    assert "acme/cache/layout-1/0011/part.json" not in shared(bucket)
    assert "acme/cache/layout-999/0011/part.json" in shared(bucket), "that of newer programs"


def test_last_uses_of_all_machines_come_together(tmp_path: Path, site: BucketSite, bucket: Bucket) -> None:
    site.release("one")
    first, second = (machine(tmp_path, bucket, name) for name in ("first", "second"))
    for number, one in enumerate((first, second)):
        one.poll()
        uses = LastUse(one.store.root)
        uses.note("acme", "key_1", 1000 + number)
        uses.note("acme", f"key_of_{number}", 500)
        uses.write()
        one.poll(after=ROUND_MS)
    assert last_uses(bucket, "acme") == {"key_1": 1001, "key_of_0": 500, "key_of_1": 500}
    bucket.asked.clear()
    before = {one.key: one.modified_at for one in bucket.names(f"acme/{LAST_USE}")}
    for one in (first, second):
        one.poll(after=2 * ROUND_MS)
    assert {one.key: one.modified_at for one in bucket.names(f"acme/{LAST_USE}")} == before, "nothing new to write"


def test_last_uses_of_the_last_minute_are_shared_at_the_end(tmp_path: Path, site: BucketSite, bucket: Bucket) -> None:
    site.release("one")
    ending = machine(tmp_path, bucket, "ending")
    ending.poll()
    ending.poll()
    uses = LastUse(ending.store.root)
    uses.note("acme", "key_1", 7)
    uses.write()
    ending.mirror.stop()
    assert last_uses(bucket, "acme") == {"key_1": 7}


def test_machines_that_are_gone_are_folded(
    tmp_path: Path, site: BucketSite, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.release("one")
    for number in range(3):
        bucket.replace(
            f"acme/{LAST_USE}/gone-{number}.json", b'{"key_%d": "2026-01-01T00:00:00.00%dZ"}' % (0, number), ANY
        )
    before = last_uses(bucket, "acme")
    staying = machine(tmp_path, bucket, "staying")
    staying.now += GONE_MS + SECOND
    replace = bucket.replace

    def lost(key: str, *_: object, **__: object) -> str:
        raise Conflict(f"{key}: another machine folds at the same time.")

    monkeypatch.setattr(bucket, "replace", lost)
    staying.poll()
    assert len(bucket.names(f"acme/{LAST_USE}")) == 3
    monkeypatch.setattr(bucket, "replace", replace)
    staying.poll(after=25 * 3600 * SECOND)
    assert [one.key for one in bucket.names(f"acme/{LAST_USE}")] == [f"acme/{LAST_USE}/folded.json"]
    assert last_uses(bucket, "acme") == before
    assert staying.store.root.joinpath(MACHINE).read_text().isalnum()

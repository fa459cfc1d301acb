"""What machines put into the store for each other: parts of the reader's cache, and the last uses of keys."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from engine.access.keys.last_use import LAST_USE, LastUse, last_uses
from engine.read.files.parts import every_part, parts_of
from engine.read.files.paths import CachePaths, cache_paths
from engine.read.materialise import materialise, shared_parts
from engine.read.materialise.materialise import Unfit
from engine.read.materialise.part_lists import SHARED, file_keys, list_key, part_folder, read_list
from engine.read.materialise.shared_parts import make_and_push
from engine.read.materialise.shared_upkeep import drop_shared, shared_complaints
from engine.read.reader.reader import open_reader
from server.mirror.last_use import GONE_MS, MACHINE
from server.mirror.mirror import ROUND_MS
from snapshots.store.durable import StoreError
from snapshots.store.manifest import Manifest
from snapshots.store.objects import ANY, Conflict
from snapshots.store.store import Store, WorkspaceStore
from tests.sites.bucket_site import BucketSite
from tests.stores.mirrored_machine import SECOND, Bucket, Machine


@pytest.fixture(autouse=True)
def fetching_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have readers fetch what is shared however little it is."""
    monkeypatch.setattr(shared_parts, "MADE_HERE", 0)


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


def builder_of(tmp_path: Path, site: BucketSite, bucket: Bucket, name: str) -> tuple[WorkspaceStore, CachePaths]:
    """A machine that builds for the bucket, with its own cache."""
    store = Store(tmp_path / name, tmp_path / name / "cache", bucket)
    return store.workspace("acme"), cache_paths(store.cache, "acme")


def push(tmp_path: Path, site: BucketSite, bucket: Bucket, version: str, name: str = "builder") -> int:
    """Make the parts of a version as ``cms snapshot build`` does, and put them into the bucket."""
    place, places = builder_of(tmp_path, site, bucket, name)
    return make_and_push(place, places, version)


def shared(bucket: Bucket) -> set[str]:
    """The keys of all files of shared parts."""
    return {one.key for one in bucket.names(f"acme/{SHARED}")}


def listed(bucket: Bucket, version: str) -> set[str]:
    """The keys that a version's list names."""
    return {key for key, _ in file_keys("acme", read_list(bucket, list_key("acme", version)))}


def test_what_a_builder_has_made_no_reader_makes(
    tmp_path: Path, site: BucketSite, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = site.release("one")
    assert push(tmp_path, site, bucket, version) > 0
    assert push(tmp_path, site, bucket, version) == 0
    assert shared(bucket) == listed(bucket, version) != set()
    make = materialise._make

    def only_tables(place: Path, manifest: Manifest, paths: CachePaths, wanted: Unfit, *more: Any) -> None:
        assert not wanted[0], "it was made once more"
        make(place, manifest, paths, wanted, *more)

    monkeypatch.setattr(materialise, "_make", only_tables)
    reader = machine(tmp_path, bucket, "reader")
    reader.poll()
    assert read_titles(reader) == {"one"}


def test_what_a_reader_makes_stays_on_its_machine(tmp_path: Path, site: BucketSite, bucket: Bucket) -> None:
    site.release("one")
    before = {one.key for one in bucket.names("acme")}
    reader = machine(tmp_path, bucket, "reader")
    reader.poll()
    assert read_titles(reader) == {"one"}
    for _ in range(3):
        reader.poll(after=ROUND_MS)
    assert {one.key for one in bucket.names("acme")} == before


@pytest.mark.parametrize("harm", ["missing file", "altered file", "damaged list", "missing list", "another's list"])
def test_a_damaged_part_is_made_anew(tmp_path: Path, site: BucketSite, bucket: Bucket, harm: str) -> None:
    version = site.release("one")
    push(tmp_path, site, bucket, version)
    for key in {list_key("acme", version)} if harm.endswith("list") else shared(bucket):
        path = bucket.root / key
        data = path.read_bytes()
        path.unlink()
        if harm == "altered file":
            path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        elif harm == "damaged list":
            path.write_bytes(data[:-3])
        elif harm == "another's list":
            path.write_bytes(data.replace(b'"name":"bodies"', b'"name":"../../x"'))
    reader = machine(tmp_path, bucket, "reader")
    reader.poll()
    assert reader.is_whole()
    assert read_titles(reader) == {"one"}
    assert not list(tmp_path.glob("**/x"))


def test_who_may_only_write_into_the_cache_changes_nothing_that_is_served(
    tmp_path: Path, site: BucketSite, bucket: Bucket
) -> None:
    """The credentials of readers before: files of another content in the place of those of a builder, and whole parts
    where a builder has put none."""
    first = site.release("one")
    push(tmp_path, site, bucket, first)
    files = {key: (bucket.root / key).read_bytes() for key in shared(bucket)}
    for key, data in files.items():
        (bucket.root / key).unlink()
        bucket.create(key, data.replace(b"one", b"two"))
    reader = machine(tmp_path, bucket, "reader")
    reader.poll()
    assert read_titles(reader) == {"one"}
    place, _ = builder_of(tmp_path, site, bucket, "builder")
    complaints = shared_complaints(place, place.manifest(first), lambda *_: None)
    assert complaints is not None
    assert any("has the SHA-256" in one for one in complaints)

    second = site.release("three")
    forging, places = builder_of(tmp_path, site, bucket, "forging")
    forging.bring(second)
    make_and_push(WorkspaceStore("acme", forging.directory), places, second)  # nothing is listed in the bucket
    manifest = forging.manifest(second)
    for part in every_part(parts_of(manifest)):
        entries = []
        for path in places.part(part.name).iterdir():
            data = path.read_bytes().replace(b"three", b"false")
            digest = hashlib.sha256(data).hexdigest()
            bucket.create(f"{part_folder('acme', part.name)}/{digest[:16]}.{path.name}", data)
            entries.append({"name": path.name, "bytes": len(data), "sha256": digest})
        bucket.create(f"{part_folder('acme', part.name)}/part.json", json.dumps({"files": entries}).encode())
    fresh = machine(tmp_path, bucket, "fresh")
    fresh.poll()
    assert read_titles(fresh) == {"three"}
    drop_shared(place)
    assert shared(bucket) == listed(bucket, first)


def test_a_builder_puts_its_file_in_the_place_of_a_damaged_one(
    tmp_path: Path, site: BucketSite, bucket: Bucket
) -> None:
    version = site.release("one")
    push(tmp_path, site, bucket, version)
    whole = {key: (bucket.root / key).read_bytes() for key in shared(bucket)}
    for key in whole:
        (bucket.root / key).unlink()
        bucket.create(key, b"short")
    assert push(tmp_path, site, bucket, version) > 0
    assert {key: (bucket.root / key).read_bytes() for key in shared(bucket)} == whole


def test_two_builders_of_one_version_leave_whole_parts(
    tmp_path: Path, site: BucketSite, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = site.release("one")
    create = bucket.create

    def later(key: str, source: Path | bytes) -> None:
        if f"/{SHARED}/" in key:
            monkeypatch.setattr(bucket, "create", create)
            push(tmp_path, site, bucket, version, "second")  # between the list and the files of the first
        create(key, source)

    monkeypatch.setattr(bucket, "create", later)
    push(tmp_path, site, bucket, version, "first")
    assert listed(bucket, version) <= shared(bucket)
    place, _ = builder_of(tmp_path, site, bucket, "first")
    drop_shared(place)
    assert shared(bucket) == listed(bucket, version)
    assert shared_complaints(place, place.manifest(version), lambda *_: None) == []


@pytest.mark.parametrize("at", range(4))
def test_what_a_killed_builder_left_goes_and_what_another_pushes_stays(
    tmp_path: Path, site: BucketSite, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """A builder is killed after some files; then a prune runs in the midst of another builder's push."""
    version = site.release("one")
    place, _ = builder_of(tmp_path, site, bucket, "first")
    create, done = bucket.create, 0

    def counted(key: str, source: Path | bytes) -> None:
        nonlocal done
        if f"/{SHARED}/" in key:
            if done == at:
                raise KeyboardInterrupt
            done += 1
        create(key, source)

    monkeypatch.setattr(bucket, "create", counted)
    with suppress(KeyboardInterrupt):
        push(tmp_path, site, bucket, version, "killed")

    def pruned(key: str, source: Path | bytes) -> None:
        create(key, source)
        if f"/{SHARED}/" in key:
            drop_shared(place)

    monkeypatch.setattr(bucket, "create", pruned)
    push(tmp_path, site, bucket, version, "second")
    assert shared(bucket) == listed(bucket, version) != set()


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
    assert len(told) == 1, told
    assert reading.page().reachable


def test_parts_of_dropped_versions_leave_the_store(tmp_path: Path, site: BucketSite, bucket: Bucket) -> None:
    first = site.release("one")
    push(tmp_path, site, bucket, first)
    second = site.release("two")
    push(tmp_path, site, bucket, second)
    kept = listed(bucket, second)
    newer, older = (f"acme/{SHARED}/layout-{number}/0011/0123456789abcdef.bodies" for number in (999, 1))
    for key in (newer, older, f"acme/{SHARED}/pushing.json"):
        bucket.create(key, b"{}")
    bucket.delete([one.key for one in bucket.names(f"{site.version_key(first)}")])
    place, _ = builder_of(tmp_path, site, bucket, "builder")
    assert drop_shared(place) > 0
    assert shared(bucket) == kept | {newer}, "that of newer programs stays"
    assert listed(bucket, first) == set()
    assert listed(bucket, second) == kept


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

"""The chain of digests: `current` names the manifest's, which names those of files; each flipped bit is noticed."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest

from engine.read.reader.reader import open_reader
from snapshots.store.current import CURRENT, CURRENT_CODEC, Current
from snapshots.store.document import DamagedDocument
from snapshots.store.manifest import MANIFEST
from snapshots.store.objects import ANY, DamagedObject
from snapshots.store.store import WorkspaceStore, open_store
from tests.sites.bucket_site import BucketSite
from tests.stores.mirrored_machine import Bucket, Machine
from tests.stores.store_content import activate, publish, version_at


class Before(msgspec.Struct):
    """What the release before reads of `current`, and writes again."""

    version: str
    previous: tuple[str, ...]
    activated_at: int
    activated_by: str
    served: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    dropping: tuple[str, ...] = ()


@pytest.fixture
def target(tmp_path: Path) -> WorkspaceStore:
    return open_store(tmp_path / "store").workspace("acme")


def flipped(data: bytes, position: int) -> bytes:
    """The same with one bit flipped, another one at each position."""
    return data[:position] + bytes([data[position] ^ 1 << position % 8]) + data[position + 1 :]


def manifest_path(target: WorkspaceStore, version: str) -> Path:
    path = target.snapshots / version / MANIFEST
    path.chmod(0o644)
    return path


def test_each_flipped_bit_of_a_manifest_is_noticed(tmp_path: Path, target: WorkspaceStore) -> None:
    for number in (1, 2):
        publish(target, number)
        activate(target, number)
    for version in (version_at(1), version_at(2)):
        path = manifest_path(target, version)
        whole = path.read_bytes()
        for position in range(len(whole)):
            path.write_bytes(flipped(whole, position))
            with pytest.raises(DamagedObject, match="which `current` names"):
                target.manifest(version)
            [complaint] = target.verify(version)
            assert str(path) in complaint
        with pytest.raises(DamagedObject):
            target.bring(version)
        with pytest.raises(DamagedObject):  # of the current one nothing would change, the other is not gone back to
            target.activate(version, expected=ANY, by="me", now=9)
        path.write_bytes(whole)
    manifest_path(target, version_at(1)).write_bytes(b"{}")
    with pytest.raises(DamagedObject):
        target.rollback(by="me", now=9)


def test_each_flipped_bit_of_current_is_noticed_or_changes_nothing(target: WorkspaceStore) -> None:
    for number in (1, 2):
        publish(target, number)
        activate(target, number)
    path = target.directory / CURRENT
    whole = path.read_bytes()
    said = target.current()
    unnoticed = 0
    for position in range(len(whole)):
        for bit in range(8):
            data = whole[:position] + bytes([whole[position] ^ 1 << bit]) + whole[position + 1 :]
            try:
                assert CURRENT_CODEC.decode(data, "current") == said
            except DamagedDocument:
                continue
            unnoticed += 1
    assert unnoticed < 8 * len(b',"checksum":"\n'), "those of the name under which the checksum stands"
    path.write_bytes(flipped(whole, 20))
    assert "current is damaged" in target.verify(version_at(1))[0]


def test_mirrors_and_readers_notice_a_flipped_bit(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    bucket = Bucket(tmp_path / "bucket")
    site = BucketSite(tmp_path, bucket)
    first = site.release("one")
    reader = Machine(tmp_path / "reader", bucket)
    reader.poll()
    second = site.release("two")
    path = bucket.root / site.version_key(second) / MANIFEST
    path.chmod(0o644)
    whole = path.read_bytes()
    for position in random.Random(8).sample(range(len(whole)), 12):
        path.write_bytes(flipped(whole, position))
        reader.poll(after=600_000)
        assert reader.version() == first
        assert reader.page().refused["acme"].version == second
        assert "which `current` names" in caplog.text
        caplog.clear()
    path.write_bytes(whole)
    reader.poll(after=600_000)
    assert reader.version() == second

    place = reader.store.workspace("acme")
    mirrored = manifest_path(place, second)
    mirrored.write_bytes(whole.replace(b'"created_by": "', b'"created_by": "x'))
    with pytest.raises(DamagedObject):
        place.manifest(second)
    again = Machine(tmp_path / "reader", bucket)  # the mirror's process is started again
    again.poll()
    assert mirrored.read_bytes() == whole
    open_reader(place.snapshots / second, place.manifest(second), reader.store.cache).close()


def test_the_release_before_reads_current_and_what_it_writes_is_not_covered(target: WorkspaceStore) -> None:
    for number in (1, 2):
        publish(target, number)
        activate(target, number)
    path = target.directory / CURRENT
    path.write_bytes(msgspec.json.encode(msgspec.json.decode(path.read_bytes(), type=Before)) + b"\n")
    assert target.digests() == {}
    assert target.verify(version_at(2)) == []
    target.rollback(by="me", now=9)
    assert target.digests().keys() == {version_at(1)}
    target.activate(version_at(2), expected=ANY, by="me", now=10)
    assert target.digests().keys() == {version_at(1), version_at(2)}


def test_activating_the_current_version_records_its_digest_where_there_is_none(target: WorkspaceStore) -> None:
    publish(target, 1)
    activate(target, 1)
    before = target.digests()
    path = target.directory / CURRENT
    document = msgspec.json.decode(path.read_bytes(), type=Current)
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(document, manifests={})))
    assert target.digests() == {}
    after = target.activate(version_at(1), expected=version_at(1), by="me", now=77)
    assert (after.manifests, after.activated_at, after.previous) == (before, document.activated_at, ())

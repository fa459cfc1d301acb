"""In a bucket, a data file is one object for all versions that have it, from the first of them to the last."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path

import pytest

from snapshots.columns import ALL, FileKind
from snapshots.store.assets.use import CLAIM_SECONDS, GONE_SECONDS
from snapshots.store.carrying import FILES, file_keys
from snapshots.store.manifest import MANIFEST, DataFile
from snapshots.store.objects import ANY
from snapshots.store.store import Store, WorkspaceStore
from tests.stores.mirrored_machine import Bucket
from tests.stores.store_content import BLOG, Row, manifest_of, version_at, write_rows

SAME, OTHER = "ja", "en"


@pytest.fixture
def bucket(tmp_path: Path) -> Bucket:
    return Bucket(tmp_path / "bucket")


def builder(tmp_path: Path, bucket: Bucket, name: str = "builder") -> WorkspaceStore:
    return Store(tmp_path / name, tmp_path / name / ".cache", bucket).workspace("acme")


def release(place: WorkspaceStore, number: int) -> tuple[DataFile, ...]:
    """Publish a version with the same rows in Japanese, and others in English; make it current."""
    with place.stage(version_at(number)) as staging:
        files = [
            write_rows(staging.directory, BLOG, lang, FileKind.PUBLISHED, [Row(name)])
            for lang, name in ((SAME, "same"), (OTHER, f"only-in-{number}"))
        ]
        manifest = manifest_of(version_at(number), files)
        place.publish(staging, manifest)
    place.activate(version_at(number), expected=ANY, by="tester", now=number)
    return manifest.files


def keys(bucket: Bucket) -> set[str]:
    return {one.key for one in bucket.names(f"acme/{FILES}")}


def test_what_versions_share_is_one_object_that_goes_with_the_last_of_them(tmp_path: Path, bucket: Bucket) -> None:
    place = builder(tmp_path, bucket)
    for number in (1, 2, 3):
        release(place, number)
    assert len(keys(bucket)) == 1 + 3
    assert not [one.key for one in bucket.names("acme/snapshots") if not one.key.endswith(MANIFEST)]
    assert [place.verify(version_at(number)) for number in (1, 2, 3)] == [[], [], []]
    dropped, freed = place.prune(1)  # and the one before the current one, to which one may go back
    assert (dropped, freed > 0) == ([version_at(1)], True)
    assert len(keys(bucket)) == 1 + 2
    assert place.verify(version_at(2)) == place.verify(version_at(3)) == []
    place.withdraw(version_at(2))
    assert keys(bucket) == set(file_keys(bucket, place.manifest(version_at(3))))
    assert builder(tmp_path, bucket, "other").bring(version_at(3)).is_dir()


def test_nothing_is_sent_or_copied_that_is_there(tmp_path: Path, bucket: Bucket) -> None:
    place = builder(tmp_path, bucket)
    release(place, 1)
    before = {key: (bucket.root / key).stat() for key in keys(bucket)}
    release(place, 2)
    assert {key: (bucket.root / key).stat() for key in before} == before


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_prune_while_a_version_is_sent_leaves_what_it_names(
    tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """The one version that has the same file goes while another is on its way that counts on it."""
    place = builder(tmp_path, bucket)
    for number in (1, 2):
        release(place, number)
    with place.stage(version_at(9)) as staging:  # of other content alone: it becomes current for the time of the prune
        file = write_rows(staging.directory, BLOG, OTHER, FileKind.PUBLISHED, [Row("other")])
        place.publish(staging, manifest_of(version_at(9), [file]))
    for number in (10, 11):
        place.activate(version_at(9), expected=ANY, by="tester", now=number)
    pruned: list[str] = []

    def prune() -> None:
        if not pruned:
            pruned.append("begun")
            pruned.extend(builder(tmp_path, bucket, "pruner").prune(1)[0])

    create: Callable[..., None] = bucket.create

    def creating(key: str, source: Path | bytes) -> None:
        is_manifest = key.endswith(f"{version_at(12)}/{MANIFEST}")
        if when == "before" and is_manifest:
            prune()
        create(key, source)
        if when == "after" and is_manifest:
            prune()

    monkeypatch.setattr(bucket, "create", creating)
    release(place, 12)
    assert pruned[0] == "begun"
    assert len(pruned) > 1
    assert place.verify(version_at(12)) == []
    assert builder(tmp_path, bucket, "reader").bring(version_at(12)).is_dir()
    place.prune(1)
    named = {key for one in place.versions() for key in file_keys(bucket, place.manifest(one))}
    assert keys(bucket) == named


def test_a_damaged_object_is_brought_again_by_the_next_version(tmp_path: Path, bucket: Bucket) -> None:
    place = builder(tmp_path, bucket)
    [same, _] = sorted(release(place, 1), key=lambda file: file.lang != SAME)
    assert same.segment == ALL
    manifest = place.manifest(version_at(1))
    [key] = (key for key, file in file_keys(bucket, manifest).items() if file == same)
    path = bucket.root / key
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert not place.is_whole(manifest)
    place.drop_damaged(manifest)
    release(place, 2)
    assert place.verify(version_at(1)) == place.verify(version_at(2)) == []


def test_what_another_version_brings_meanwhile_is_not_taken_for_damage(
    tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version is dropped while it is looked at, and somebody else brings the file that the two have in common."""
    place = builder(tmp_path, bucket)
    manifest_then = release(place, 1)
    manifest = place.manifest(version_at(1))
    for key in keys(bucket):  # as a prune does, after the manifest
        (bucket.root / key).unlink()
    delete = bucket.delete
    brought: list[int] = []

    def deleting(asked: Iterable[str]) -> None:
        found = list(asked)
        if not brought:
            brought.append(2)
            release(builder(tmp_path, bucket, "other"), 2)
        delete(found)

    monkeypatch.setattr(bucket, "delete", deleting)
    place.drop_damaged(manifest)
    assert brought
    assert {file.sha256 for file in manifest_then} & {file.sha256 for file in place.manifest(version_at(2)).files}
    assert place.verify(version_at(2)) == []


def test_a_claim_counts_as_left_only_when_no_request_of_its_prune_is_on_its_way_any_more() -> None:
    pytest.importorskip("obstore", reason="obstore is not installed: pip install 'parquetry[objects]'")
    from snapshots.store.buckets.bucket_objects import _LONG, _LONG_RETRIES

    longest = _LONG_RETRIES["retry_timeout"] + _LONG["timeout"]
    assert isinstance(longest, timedelta)
    assert longest.total_seconds() + CLAIM_SECONDS <= GONE_SECONDS

"""A version that is pushed while it is pruned, was pruned just now, or is being pushed by another machine."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import pytest

from snapshots.store.assets import use as asset_use
from snapshots.store.assets.use import GONE_SECONDS
from snapshots.store.carrying import DROPPED, BeingDeleted, carry, version_folder
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.manifest import MANIFEST
from snapshots.store.objects import ANY, Conflict, Expected, MissingObject, StoreUnreachable
from snapshots.store.store import MissingVersion, Store, StoreError, WorkspaceStore
from tests.stores.store_content import activate, publish, version_at

Change = Callable[[], object]


class Target(DirectoryObjects):
    """A store in which something can be done right before a manifest is stored, or a key is deleted."""

    before_manifest: Change | None = None
    before_deletion: Change | None = None

    def create(self, key: str, source: Path | bytes) -> None:
        if key.endswith(MANIFEST) and self.before_manifest is not None:
            change, self.before_manifest = self.before_manifest, None
            change()
        super().create(key, source)

    def delete(self, keys: Iterable[str]) -> int:
        found = list(keys)
        if found and self.before_deletion is not None:
            change, self.before_deletion = self.before_deletion, None
            change()
        return super().delete(found)


class Bucket(Target):
    """A directory whose changes may be carried out late, as a bucket's are."""

    loses_answers = True
    late: list[list[str]] | None = None
    """The keys of deletions that have not arrived yet; ``None`` where they all arrive at once."""

    def delete(self, keys: Iterable[str]) -> int:
        found = list(keys)
        if self.late is None or not found:
            return super().delete(found)
        self.late.append(found)
        raise StoreUnreachable("the store gave no answer in time.")

    def replace(self, key: str, data: bytes, expected: str | Expected, *, private: bool = False) -> str:
        tag = super().replace(key, data, expected, private=private)
        os.utime(self.root / key)  # which a bucket changes with the same bytes, too
        return tag


AnyTarget = TypeVar("AnyTarget", bound=Target)


@pytest.fixture
def source(tmp_path: Path) -> WorkspaceStore:
    source = Store(tmp_path / "source", tmp_path / "cache").workspace("acme")
    for number in (1, 2, 3):
        publish(source, number)
    return source


@pytest.fixture(params=[Target, Bucket])
def target(tmp_path: Path, source: WorkspaceStore, request: pytest.FixtureRequest) -> Target:
    return filled(request.param(tmp_path / "target"), source)


def filled(target: AnyTarget, source: WorkspaceStore) -> AnyTarget:
    """Give a store three versions, of which the last is current."""
    for number in (1, 2, 3):
        push(source, target, number)
        activate(workspace(target), number)
    return target


def workspace(target: Target) -> WorkspaceStore:
    return Store(target.root.parent / "here", target.root.parent / "here-cache", target).workspace("acme")


def push(source: WorkspaceStore, target: Target, number: int) -> int:
    return carry(source.objects, target, "acme", version_at(number)).versions


def key_of(number: int, name: str) -> str:
    return f"{version_folder('acme', version_at(number))}/{name}"


def time_passes(target: Target, seconds: float) -> None:
    """Have everything in the store be older by so many seconds."""
    for path in target.root.rglob("*"):
        if path.is_file():
            status = path.stat()
            os.utime(path, (status.st_atime, status.st_mtime - seconds))


def test_a_version_that_another_pushes_and_prunes_meanwhile_is_whole(source: WorkspaceStore, target: Target) -> None:
    there = workspace(target)
    assert there.prune(1)[0] == [version_at(1)]
    time_passes(target, GONE_SECONDS + 1)
    there.prune(1)

    def another() -> None:
        assert push(source, target, 1)
        assert there.prune(1)[0] == [], "somebody is carrying it"
        assert there.versions() == [version_at(number) for number in (3, 2)]
        with pytest.raises(MissingVersion, match="is being deleted"):
            activate(there, 1)
        with pytest.raises(Conflict, match="prune"):
            push(source, target, 1)

    target.before_manifest = another
    push(source, target, 1)
    assert there.verify(version_at(1)) == []
    assert there.prune(1)[0] == [version_at(1)]
    time_passes(target, GONE_SECONDS + 1)
    there.prune(1)
    assert push(source, target, 1) == 1


def test_a_version_on_its_way_is_not_deleted_by_its_name(source: WorkspaceStore, target: Target) -> None:
    there = workspace(target)
    there.prune(1)
    time_passes(target, GONE_SECONDS + 1)
    there.prune(1)

    def another() -> None:
        push(source, target, 1)
        with pytest.raises(StoreError, match="is being pushed to"):
            there.withdraw(version_at(1))

    target.before_manifest = another
    push(source, target, 1)
    assert there.verify(version_at(1)) == []


def test_a_version_whose_push_may_still_arrive_stays_for_a_day(
    source: WorkspaceStore, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = workspace(target)
    there.prune(1)
    time_passes(target, GONE_SECONDS + 1)
    there.prune(1)

    def no_answer() -> None:
        push(source, target, 1)
        raise StoreUnreachable("the store gave no answer in time.")

    target.before_manifest = no_answer
    with pytest.raises(StoreUnreachable):
        push(source, target, 1)
    assert there.prune(1)[0] == []
    assert there.verify(version_at(1)) == []
    monkeypatch.setattr(asset_use, "_now", lambda now=asset_use._now: now() + asset_use.LEASE_MS)
    assert there.prune(1)[0] == [version_at(1)]


def test_a_version_is_not_pushed_while_it_is_deleted(source: WorkspaceStore, target: Target) -> None:
    there, refused = workspace(target), list[str]()

    def push_beside() -> None:
        target.create(key_of(1, "ja/left.parquet"), b"what is not deleted yet")
        (target.root / key_of(1, MANIFEST)).unlink()
        with pytest.raises(Conflict) as error:
            push(source, target, 1)
        refused.append(str(error.value))

    target.before_deletion = push_beside
    there.prune(1)
    assert len(refused) == 1
    assert "prune" in refused[0]
    assert there.versions() == [version_at(3), version_at(2)]


def test_a_deletion_that_arrives_late_hits_nothing_that_was_pushed_again(
    tmp_path: Path, source: WorkspaceStore
) -> None:
    target = filled(Bucket(tmp_path / "target"), source)
    there = workspace(target)
    target.late = []
    with pytest.raises(StoreUnreachable):
        there.prune(1)
    late, target.late = target.late, None
    assert [keys[0].rpartition("/")[2] for keys in late] == [MANIFEST]
    time_passes(target, GONE_SECONDS - 10)
    assert there.prune(1)[0] == [version_at(1)], "what the first one asked for has not arrived"
    for passing in (0, GONE_SECONDS - 10):
        time_passes(target, passing)
        assert there.prune(1)[0] == []
        with pytest.raises(Conflict, match="Try again six minutes after its end"):
            push(source, target, 1)
    for keys in late:
        target.delete(keys)
    time_passes(target, 11)
    there.prune(1)
    assert push(source, target, 1) == 1
    there.activate(version_at(1), expected=ANY, by="tester", now=9)
    assert there.verify(version_at(1)) == []


def test_a_version_of_which_nothing_can_arrive_any_more_is_pushed_without_another_prune(
    tmp_path: Path, source: WorkspaceStore
) -> None:
    target = filled(Bucket(tmp_path / "target"), source)
    there = workspace(target)
    there.prune(2)
    found = there.current()
    assert found is not None
    assert found.dropping == (version_at(1),), "its mark is still there"
    time_passes(target, GONE_SECONDS - 10)
    with pytest.raises(BeingDeleted):
        push(source, target, 1)
    time_passes(target, 11)
    assert push(source, target, 1) == 1
    assert there.prune(3)[0] == []
    activate(there, 1)
    assert there.verify(version_at(1)) == []


def test_a_mark_of_old_before_files_that_are_still_there_is_in_the_way(source: WorkspaceStore, target: Target) -> None:
    (target.root / key_of(1, MANIFEST)).unlink()
    target.create(key_of(1, DROPPED), b"")
    time_passes(target, 10 * GONE_SECONDS)
    with pytest.raises(BeingDeleted, match="run `cms snapshot prune` there"):
        push(source, target, 1)


def test_a_manifest_that_arrives_late_makes_no_version(tmp_path: Path, source: WorkspaceStore) -> None:
    target = filled(Bucket(tmp_path / "target"), source)
    there = workspace(target)
    manifest = (target.root / key_of(1, MANIFEST)).read_bytes()
    assert there.prune(1)[0] == [version_at(1)]
    time_passes(target, GONE_SECONDS - 10)
    target.create(key_of(1, MANIFEST), manifest)
    assert there.versions() == [version_at(3), version_at(2)]
    with pytest.raises(MissingVersion, match="is being deleted"):
        activate(there, 1)
    with pytest.raises(Conflict, match="prune"):
        push(source, target, 1)
    for _ in range(2):
        there.prune(1)
        assert not there.has(version_at(1))
        time_passes(target, GONE_SECONDS + 1)
    assert target.names(version_folder("acme", version_at(1))) == []
    assert push(source, target, 1) == 1
    activate(there, 1)


def test_two_prunes_of_a_directory_wait_for_each_other(tmp_path: Path, source: WorkspaceStore) -> None:
    target = filled(Target(tmp_path / "target"), source)
    there = workspace(target)
    other = threading.Thread(target=workspace(target).prune, args=(1,))

    def begin_another() -> None:
        other.start()
        other.join(0.2)
        assert other.is_alive()

    target.before_deletion = begin_another
    assert there.prune(1)[0] == [version_at(1)]
    other.join()
    assert push(source, target, 1) == 1, "nothing of it is left, its mark neither"


def test_what_was_half_pushed_days_ago_goes_unless_it_is_being_pushed_on(
    source: WorkspaceStore, target: Target
) -> None:
    there = workspace(target)
    there.prune(1)
    time_passes(target, GONE_SECONDS + 1)
    there.prune(1)
    target.before_manifest = lambda: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        push(source, target, 1)
    half = [one.key for one in target.names(version_folder("acme", version_at(1)))]
    assert half
    there.prune(1)
    assert [one.key for one in target.names(version_folder("acme", version_at(1)))] == half
    time_passes(target, 3 * 24 * 3600)

    def beside() -> None:
        there.prune(1)
        assert [one.key for one in target.names(version_folder("acme", version_at(1)))] == half

    target.before_manifest = beside
    push(source, target, 1)
    assert there.verify(version_at(1)) == []
    (target.root / key_of(1, MANIFEST)).unlink()
    time_passes(target, 3 * 24 * 3600)
    there.prune(1)
    assert target.names(version_folder("acme", version_at(1))) == []


def test_a_file_of_another_version_that_is_pruned_meanwhile_is_sent_instead(
    tmp_path: Path, source: WorkspaceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = Target(tmp_path / "target")
    push(source, target, 1)
    key = target.names(version_folder("acme", version_at(1)))[0].key
    path = target.root / key
    real, left = os.link, [path]

    def link(source: str | Path, destination: str | Path, **options: bool) -> None:
        if left and Path(source) == left[0]:
            left.pop().unlink()
        real(source, destination, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(MissingObject):
        target.copy(key, "acme/snapshots/copy")


def test_a_directory_that_a_prune_takes_for_left_over_is_made_again(tmp_path: Path, source: WorkspaceStore) -> None:
    target, calls = Target(tmp_path / "target"), list[Path]()
    path = tmp_path / "target/acme/snapshots/x/file"
    one = source.objects.names(version_folder("acme", version_at(1)))[0]
    real = source.objects.as_file(one.key, one.bytes, None)
    with real as found, pytest.MonkeyPatch.context() as patched:
        link = os.link

        def taken(source: str | Path, destination: str | Path, **options: bool) -> None:
            if not calls:
                calls.append(Path(destination))
                path.parent.rmdir()
            link(source, destination, **options)  # type: ignore[arg-type]

        patched.setattr(os, "link", taken)
        target.take("acme/snapshots/x/file", source.objects, one.key, one.bytes, None)  # type: ignore[arg-type]
        assert path.read_bytes() == found.read_bytes()
    assert calls
    assert time.time() - path.stat().st_mtime < 3600, "it is as old as its newest name"

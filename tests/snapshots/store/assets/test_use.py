"""Assets that a version on its way names, and prunes beside it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import pytest
from PIL import Image

from snapshots.build.build import build
from snapshots.store.assets import use as asset_use
from snapshots.store.assets.use import ASSET_USE
from snapshots.store.carrying import ASSETS, carry
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.manifest import MANIFEST
from snapshots.store.objects import ListedObject, MissingObject
from snapshots.store.store import ANY, Store, StoreError, WorkspaceStore
from snapshots.times import now_ms
from tests.sites.served_site import POSTS, Site
from tests.stores.store_content import asset_of, publish, version_at

DAYS = 3 * 24 * 3600


class Target(DirectoryObjects):
    """A store that has something done before a manifest is there, or before assets go."""

    before_manifest: threading.Thread | None = None
    before_deletion: threading.Thread | None = None

    def create(self, key: str, source: Path | bytes) -> None:
        if key.endswith(MANIFEST) and self.before_manifest is not None:
            self.before_manifest.run()
        super().create(key, source)

    def delete(self, keys: Iterable[str]) -> int:
        found = list(keys)
        if self.before_deletion is not None and any(f"/{ASSETS}/" in key for key in found):
            thread, self.before_deletion = self.before_deletion, None
            thread.start()
            thread.join(0.5)
        return super().delete(found)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    files = tmp_path / "files"
    files.mkdir()
    for name in ("one.png", "two.png"):
        (files / name).write_bytes(name.encode())
    return files


@pytest.fixture
def source(tmp_path: Path, files: Path) -> Store:
    source = Store(tmp_path / "source", tmp_path / "cache")
    publish(source.workspace("acme"), 1, {}, files, ["one.png"])
    publish(source.workspace("acme"), 2, {}, files, ["two.png"])
    return source


@pytest.fixture
def target(tmp_path: Path, source: Store, files: Path) -> Target:
    """A store with the first version, and with the second one's asset, which nothing has named for days."""
    target = Target(tmp_path / "target")
    carry(source.objects, target, "acme", version_at(1))
    key = f"acme/{ASSETS}/{asset_of(files, 'two.png')}"
    target.create(key, files / "two.png")
    os.utime(target.root / key, (1, 1))
    return target


def workspace(target: Target, tmp_path: Path) -> WorkspaceStore:
    return Store(tmp_path / "here", tmp_path / "here-cache", target).workspace("acme")


def test_a_prune_leaves_the_assets_of_a_version_on_its_way(source: Store, target: Target, tmp_path: Path) -> None:
    place = workspace(target, tmp_path)
    target.before_manifest = threading.Thread(target=place.prune, args=(5,))
    carry(source.objects, target, "acme", version_at(2))
    assert place.verify(version_at(2)) == []
    target.before_manifest = None
    place.prune(5)
    assert place.verify(version_at(2)) == []


def test_a_version_waits_for_a_prune_that_deletes_its_asset(source: Store, target: Target, tmp_path: Path) -> None:
    place = workspace(target, tmp_path)
    carrying = threading.Thread(target=carry, args=(source.objects, target, "acme", version_at(2)))
    target.before_deletion = carrying
    place.prune(5)
    carrying.join()
    assert place.verify(version_at(2)) == []


def test_a_version_goes_on_after_a_prune_that_was_killed(
    source: Store, target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill() -> None:
        raise KeyboardInterrupt

    place = workspace(target, tmp_path)
    with monkeypatch.context() as killed:
        killed.setattr(target, "delete", lambda _: kill())
        with pytest.raises(KeyboardInterrupt):
            place.prune(5)
    assert b'"dropping"' in target.root.joinpath("acme", ASSET_USE).read_bytes()
    monkeypatch.setattr(asset_use, "GONE_SECONDS", 0.3)
    carry(source.objects, target, "acme", version_at(2))
    assert place.verify(version_at(2)) == []
    assert b'"dropping"' not in target.root.joinpath("acme", ASSET_USE).read_bytes()


def test_nobody_waits_for_a_prune_that_was_refused(
    source: Store, target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(keys: Iterable[str]) -> int:
        raise StoreError(f"{next(iter(keys))}: not permitted")

    place = workspace(target, tmp_path)
    with monkeypatch.context() as refused:
        refused.setattr(target, "delete", refuse)
        with pytest.raises(StoreError, match="not permitted"):
            place.prune(5)
    assert b'"dropping"' not in target.root.joinpath("acme", ASSET_USE).read_bytes()
    carry(source.objects, target, "acme", version_at(2))
    assert place.verify(version_at(2)) == []


def test_what_a_killed_process_leased_goes_after_a_day(
    source: Store, target: Target, tmp_path: Path, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed() -> None:
        raise KeyboardInterrupt

    place = workspace(target, tmp_path)
    with monkeypatch.context() as left:
        left.setattr(asset_use, "_give_back", lambda *_: None)  # what it would give back
        target.before_manifest = threading.Thread(target=killed)
        with pytest.raises(KeyboardInterrupt):
            carry(source.objects, target, "acme", version_at(2))
    asset = target.root / "acme" / ASSETS / asset_of(files, "two.png")
    place.prune(5)
    assert asset.exists()
    day = asset_use.LEASE_MS
    monkeypatch.setattr(asset_use, "_now", lambda now=asset_use._now: now() + day)
    place.prune(5)
    assert not asset.exists()


def test_a_prune_ends_that_looks_for_long_at_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = DirectoryObjects(tmp_path)
    objects.create("acme/assets/one.png", b"one")
    looks = iter(range(9))  # an exception for what does not end

    def unneeded() -> list[ListedObject]:
        next(looks)
        clock.append(clock[-1] + 10 * asset_use.CLAIM_SECONDS)
        return objects.names("acme/assets")

    clock = [0.0]
    slow = SimpleNamespace(monotonic=lambda: clock[-1], time=time.time, sleep=time.sleep)
    monkeypatch.setattr(asset_use, "time", slow)
    assert asset_use.drop_assets(objects, "acme", unneeded) == 3
    assert objects.names("acme/assets") == []


def test_a_version_without_its_assets_is_told_and_not_activated(
    source: Store, target: Target, tmp_path: Path, files: Path
) -> None:
    place = workspace(target, tmp_path)
    first = place.activate(version_at(1), expected=ANY, by="tester", now=1)
    carry(source.objects, target, "acme", version_at(2))
    name = asset_of(files, "two.png")
    target.delete([f"acme/{ASSETS}/{name}"])
    assert place.verify(version_at(2)) == [f"{ASSETS}/{name}: is missing"]
    with pytest.raises(StoreError, match=rf"damaged: {ASSETS}/{name}: is missing"):
        place.activate(version_at(2), expected=ANY, by="tester", now=2)
    assert place.current() == first
    target.create(f"acme/{ASSETS}/{name}", b"something else")
    assert place.verify(version_at(2)) == [f"{ASSETS}/{name}: has another content than its name says"]


def test_assets_of_a_version_are_put_back_from_this_machine(source: Store, target: Target, files: Path) -> None:
    carry(source.objects, target, "acme", version_at(2))
    key = f"acme/{ASSETS}/{asset_of(files, 'two.png')}"
    target.delete([key])
    here = Store(source.root, source.cache, target).workspace("acme")
    assert not here.has_assets(here.manifest(version_at(2)))
    here.restore_assets(version_at(2))
    assert here.verify(version_at(2)) == []
    for objects in (target, source.objects):
        objects.delete([key])
    with pytest.raises(MissingObject, match="needs it"):
        here.restore_assets(version_at(2))


def test_a_build_that_took_longer_than_its_assets_are_kept_publishes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path)
    site.publish("one")
    (site.source / "apis" / "posts.yaml").write_text(POSTS + "  - {id: cover, name: Cover, type: image}\n")
    (site.source / "content" / "posts.jsonl").write_text(
        '{"id": "a", "createdAt": "2026-01-01T00:00:00Z", "title": "A", "cover": "a.png"}\n'
    )
    Image.new("RGB", (4, 4)).save(site.source / "content" / "a.png")
    before = site.place.versions()
    monkeypatch.setattr(asset_use, "LEASE_MS", -1)
    with pytest.raises(StoreError, match="took longer than its assets are kept"):
        build(site.source, site.store, now=now_ms())
    assert site.place.versions() == before
    monkeypatch.undo()
    build(site.source, site.store, now=now_ms())
    assert len(site.place.versions()) == len(before) + 1

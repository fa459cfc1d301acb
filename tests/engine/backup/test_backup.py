"""Backups of a store in a directory: what is in them, what is not taken twice, that a restored store is the same."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import stat
import threading
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import msgspec
import pytest
from starlette.testclient import TestClient

from engine.administration.heartbeats import ReadingServer, encode_reader, reader_key
from engine.backup import layout
from engine.backup.layout import BackupDamaged, NoBackup
from engine.backup.newest import newest_backup
from engine.backup.restoring import NotEmpty, restore
from engine.views.gathering.repair import ViewFiles, complaints
from server.settings import Settings
from snapshots.build.build import build
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.durable import StoreError
from snapshots.store.manifest import MANIFEST
from snapshots.store.objects import ANY
from snapshots.store.store import Store, open_store
from snapshots.times import now_ms
from tests.engine.backup.saved_site import bring_back, checked, content, full_site, save
from tests.engine.backup.watched_objects import WatchedObjects
from tests.sites.quiet_app import quiet_app
from tests.sites.served_site import Site, eventually
from tests.stores.mirrored_machine import Bucket


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A site that no test changes."""
    return full_site(tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="module")
def place(made: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place with one backup of it, to be copied only."""
    place = tmp_path_factory.mktemp("place") / "backups-of-acme"
    save(made.store, place)
    return place


@pytest.fixture
def copied(place: Path, tmp_path: Path) -> Path:
    shutil.copytree(place, tmp_path / "place")
    return tmp_path / "place"


@pytest.fixture
def site(made: Site, tmp_path: Path) -> Site:
    """A copy of the site that a test may change."""
    site = Site(tmp_path)
    shutil.copytree(made.source, site.source, dirs_exist_ok=True)
    shutil.copytree(made.store.root, site.store.root)
    return site


def answers(store: Store, key: str) -> list[Any]:
    """What a server over a store answers."""
    targets = ("/v1/acme/posts", "/v1/acme/posts?orders=-views", "/v1/acme/site", "/v1/acme/_views/posts?ids=post-1")
    settings = Settings(store=str(store.root), cache=f"{store.root}-cache")
    with TestClient(quiet_app(settings, clock=lambda: 1_900_000_000_000)) as client:
        eventually(lambda: client.get("/readyz").json()["ready"])
        found = []
        for target in targets:
            answer = client.get(target, headers={"X-API-KEY": key})
            headers = {name: answer.headers.get(name) for name in ("etag", "x-snapshot", "x-next-change")}
            found.append((target, answer.status_code, headers, answer.content))
        asset = next((store.root / "acme" / "assets").glob("*.pdf")).name
        found.append(client.get(f"/assets/acme/{asset}").content)
        return found


def test_a_restored_store_is_the_store(made: Site, place: Path, tmp_path: Path) -> None:
    restored = bring_back(place, tmp_path / "restored")
    before, after = content(made.store.root), content(restored.root)
    assert set(before) - set(after) == {"acme/asset_use.json"}, "who was at work is not told by a backup"
    segments = {name for name in before if "/spool/" in name}
    assert segments, "some views wait"
    assert after == {name: digest for name, digest in before.items() if name in after}
    place_after = restored.workspace("acme")
    assert [place_after.verify(version) for version in place_after.versions()] == [[]] * 3
    assert place_after.current() == made.place.current()
    assert place_after.holds() == made.place.holds() != ()
    assert complaints(ViewFiles.of(place_after), now_ms()) == []
    for path in restored.root.rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert path.name not in {"access.json", "webhooks.json", "sign_ins.json"} or mode == 0o600, path


def test_what_versions_share_takes_space_once_in_a_restored_directory(site: Site, tmp_path: Path) -> None:
    def shared(store: Store) -> dict[str, set[str]]:
        """The names of data files by what holds them on the disk."""
        found: dict[int, set[str]] = {}
        for path in store.root.glob("acme/snapshots/*/*/*/*.parquet"):
            found.setdefault(path.stat().st_ino, set()).add(path.relative_to(store.root).as_posix())
        return {min(names): names for names in found.values()}

    def same_files(store: Store) -> list[set[str]]:
        by_digest: dict[str, set[str]] = {}
        for name, digest in content(store.root).items():
            if fnmatch(name, "acme/snapshots/*.parquet") and "/_" not in name:
                by_digest.setdefault(digest, set()).add(name)
        return [*by_digest.values()]

    (site.source / "content" / "site.yaml").write_text("title: four\ncreatedAt: 2026-01-01\n")
    build(site.source, site.store, now=now_ms())
    save(site.store, tmp_path / "place")
    restored = bring_back(tmp_path / "place", tmp_path / "restored")
    expected = {min(names): names for names in same_files(site.store)}
    assert any(len(names) > 1 for names in expected.values())
    assert shared(restored) == expected
    assert content(restored.root).items() <= content(site.store.root).items()


def test_a_restored_store_is_answered_from_alike(site: Site, tmp_path: Path) -> None:
    key = site.key(validity="none")[1]
    save(site.store, tmp_path / "place")
    restored = bring_back(tmp_path / "place", tmp_path / "restored")
    assert answers(restored, key) == answers(site.store, key)


def test_the_owner_alone_may_read_a_backup(place: Path) -> None:
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    backup = checked(DirectoryObjects(place)).backup
    private = [item for item in backup.items if item.private]
    assert {item.key for item in private} == {"acme/access.json", "acme/webhooks.json", "sign_ins.json"}
    lists = [path for path in (place / "backups").iterdir() if path.suffix == ".json"]
    for path in (*lists, *(place / layout.content_key(item.sha256) for item in private)):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_nothing_is_taken_twice(site: Site, tmp_path: Path) -> None:
    first = save(site.store, tmp_path / "place")
    read: list[str] = []
    watched = WatchedObjects(site.store.root, lambda step, key: read.append(key) if step == "as_file" else None)
    again = save(Store(site.store.root, site.store.cache, watched), tmp_path / "place")
    assert (again.sent, read) == (0, [])
    of_versions = [item for item in first.named.backup.items if "/snapshots/" in item.key]
    assert [item for item in again.named.backup.items if "/snapshots/" in item.key] == of_versions
    version = site.publish("four")
    more = save(site.store, tmp_path / "place")
    new = {item.sha256: item for item in more.named.backup.items if item not in first.named.backup.items}
    assert more.sent <= sum(item.bytes for item in new.values())
    assert {item.key.split("/")[2] for item in new.values() if "/snapshots/" in item.key} == {version}
    assert (more.named.backup.workspaces[0].current, len(more.named.backup.workspaces[0].versions)) == (version, 4)
    store = open_store(site.store.root)
    told = newest_backup(store.objects)
    assert told is not None
    assert (told.name, told.place) == (more.named.name, str(tmp_path / "place"))
    bring_back(tmp_path / "place", tmp_path / "older", first.named.name[:20])
    assert version not in open_store(tmp_path / "older").workspace("acme").versions()


def test_only_some_versions(site: Site, tmp_path: Path) -> None:
    versions = [site.publish("five"), *site.place.versions()]
    saved = save(site.store, tmp_path / "place", newest=1).named.backup.workspaces[0]
    current = site.place.current()
    assert current is not None
    assert set(saved.versions) == {versions[0], current.version, current.previous[0]}
    restored = bring_back(tmp_path / "place", tmp_path / "restored").workspace("acme")
    assert restored.versions() == list(saved.versions)
    assert restored.verify(saved.versions[-1]) == []


def test_a_current_version_that_is_gone_is_told(site: Site, tmp_path: Path) -> None:
    current = site.place.current()
    assert current is not None
    shutil.rmtree(site.place.snapshots / current.version)
    [complaint] = save(site.store, tmp_path / "place").complaints
    assert f"{current.version} of acme is current and is not in the store" in complaint
    assert bring_back(tmp_path / "place", tmp_path / "restored").workspace("acme").current() is None


@pytest.mark.parametrize("how", ["altered", "cut off", "gone"])
def test_what_is_damaged_in_the_store_is_told_and_all_else_is_saved(site: Site, tmp_path: Path, how: str) -> None:
    old, *_ = sorted(site.place.versions())
    data = next((site.place.snapshots / old).rglob("*.parquet"))
    data.chmod(0o644)
    if how == "altered":
        data.write_bytes(b"x" * data.stat().st_size)
    elif how == "cut off":
        os.truncate(data, data.stat().st_size - 1)
    else:
        data.unlink()
    made = save(site.store, tmp_path / "place")
    assert [old in complaint for complaint in made.complaints] == [True]
    restored = bring_back(tmp_path / "place", tmp_path / "restored").workspace("acme")
    assert restored.versions() == [one for one in site.place.versions() if one != old]
    asset = next(site.place.assets.glob("*.pdf"))
    asset.chmod(0o644)
    asset.write_bytes(b"x" * asset.stat().st_size)
    (site.place.directory / "current").write_bytes(b"{")
    complaints_now = save(site.store, tmp_path / "elsewhere").complaints
    assert any("current" in one and "damaged" in one for one in complaints_now)
    assert any(asset.name in one for one in complaints_now)
    restored = bring_back(tmp_path / "elsewhere", tmp_path / "without").workspace("acme")
    assert restored.current() is None
    assert site.access.read() is not None
    assert (restored.directory / "access.json").read_bytes() == site.access.path.read_bytes()


def test_what_holds_something_is_replaced_only_where_that_is_asked_for(
    site: Site, copied: Path, tmp_path: Path
) -> None:
    fresh = content(bring_back(copied, tmp_path / "fresh").root)
    site.publish("newer")
    site.key()
    before = content(site.store.root)
    with pytest.raises(NotEmpty, match=r"holds something already .* write --force"):
        bring_back(copied, site.store)
    assert content(site.store.root) == before
    note = encode_reader(ReadingServer("web-1", "parquetry", ()))
    site.store.objects.replace(reader_key("one"), note, ANY)
    with pytest.raises(StoreError, match=r"is served by web-1, heard of \d+ s ago\. End the servers first"):
        bring_back(copied, site.store, force=True)
    assert content(site.store.root) == before
    site.store.objects.delete([reader_key("one")])
    bring_back(copied, site.store, force=True)
    assert content(site.store.root) == fresh
    assert not (site.place.directory / "views" / "views.duckdb").exists()


def test_folders_on_other_disks_are_saved(site: Site, tmp_path: Path) -> None:
    wanted = content(site.store.root)
    del wanted["acme/asset_use.json"]
    for folder in ("audit", "assets", "snapshots"):
        place = site.place.directory / folder
        place.rename(tmp_path / folder)
        place.symlink_to(tmp_path / folder)
    made = save(site.store, tmp_path / "place")
    assert made.complaints == ()
    assert content(bring_back(tmp_path / "place", tmp_path / "restored").root) == wanted


@pytest.mark.parametrize(
    "where", ["store", "store/inside", ".", "other"], ids=["the store", "inside", "around", "something else"]
)
def test_a_place_for_backups_holds_nothing_else(site: Site, tmp_path: Path, where: str) -> None:
    (tmp_path / "other" / "photos").mkdir(parents=True)
    with pytest.raises(StoreError, match=r"lie in one another|holds other things"):
        save(site.store, tmp_path / where)
    assert not (tmp_path / where / "content").exists()


def damaged(place: Path, how: str) -> None:
    backup = checked(DirectoryObjects(place)).backup
    [listed] = (place / "backups").glob("*.json")
    item = next(one for one in backup.items if one.key.endswith(".parquet"))
    path = place / layout.content_key(item.sha256)
    path.chmod(0o600)
    if how == "flipped":
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    elif how == "cut off":
        os.truncate(path, item.bytes - 1)
    elif how == "missing":
        path.unlink()
    elif how == "another file behind a link":
        path.unlink()
        path.symlink_to("/etc/passwd")
    elif how == "a link to itself":
        path.unlink()
        path.symlink_to(path)
    elif how == "list":
        listed.chmod(0o600)
        listed.write_bytes(listed.read_bytes().replace(b"acme", b"acne"))
    else:
        listed.unlink()
        data = listed_with(backup, how)
        (place / "backups" / f"{listed.stem.split('-')[0]}-{hashlib.sha256(data).hexdigest()[:16]}.json").write_bytes(
            data
        )


def listed_with(backup: layout.Backup, how: str) -> bytes:
    """The list of a backup that somebody else wrote, with its right name."""
    document = msgspec.to_builtins(backup)
    items = document["items"]
    keys = {
        "leads out": "../../../tmp/leads-out",
        "absolute": "/tmp/absolute",
        "hidden": "acme/.cache/x",
        "not a name": "acme/\x00",
        "empty": "",
        "twice": items[1]["key"],
        "file and folder": items[0]["key"] + "/below",
    }
    if how == "newer":
        document["format"] = layout.FORMAT + 1
    elif how == "no digest":
        items[0]["sha256"] = "../../../../etc/passwd"
    elif how == "negative":
        items[0]["bytes"] = -1
    elif how == "text":
        return b"no list"
    elif how == "deep":
        return b"[" * 100_000
    else:
        items[2]["key"] = keys[how]
    return msgspec.json.encode(document)


@pytest.mark.parametrize(
    "how",
    [
        "flipped",
        "cut off",
        "missing",
        "another file behind a link",
        "a link to itself",
        "list",
        "newer",
        "leads out",
        "absolute",
        "hidden",
        "not a name",
        "empty",
        "twice",
        "file and folder",
        "no digest",
        "negative",
        "text",
        "deep",
    ],
)
def test_a_damaged_backup_is_refused_before_anything_is_touched(copied: Path, tmp_path: Path, how: str) -> None:
    damaged(copied, how)
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "kept").write_text("as it was")
    with pytest.raises(StoreError) as refused:
        bring_back(copied, tmp_path / "store", force=True)
    assert isinstance(refused.value, BackupDamaged) or how == "a link to itself", refused.value
    assert how != "newer" or "newer than this program reads (1). Upgrade" in str(refused.value)
    assert [path.name for path in (tmp_path / "store").iterdir()] == ["kept"]


def test_content_of_a_newer_program_is_refused(site: Site, tmp_path: Path) -> None:
    save(site.store, tmp_path / "place")
    access = site.access.path
    access.write_bytes(
        access.read_bytes().replace(b'"format":1', b'"format":9').replace(b'"format": 1', b'"format": 9')
    )
    save(site.store, tmp_path / "place")
    with pytest.raises(BackupDamaged, match=r"cannot be restored by this program\. .*newer"):
        bring_back(tmp_path / "place", tmp_path / "restored")
    older = layout.names(DirectoryObjects(tmp_path / "place"))[1]
    bring_back(tmp_path / "place", tmp_path / "restored", older)


def test_which_backup(copied: Path, tmp_path: Path) -> None:
    with pytest.raises(NoBackup, match="has no backup"):
        bring_back(tmp_path / "nowhere", tmp_path / "store")
    with pytest.raises(NoBackup, match='no backup that begins with "1999"'):
        bring_back(copied, tmp_path / "store", "1999")
    assert not (tmp_path / "store").exists()


class Killed(BaseException):
    """The process ends here."""


def killed_at(number: int) -> Any:
    """What ends a process before one of its changes."""
    left = [number]

    def before(step: str, _key: str) -> None:
        if step in {"create", "replace", "delete"}:
            left[0] -= 1
            if left[0] < 0:
                raise Killed

    return before


def test_a_backup_that_was_killed_is_none_and_the_next_one_goes_on(site: Site, copied: Path, tmp_path: Path) -> None:
    site.publish("newer")
    site.key()
    before = layout.names(DirectoryObjects(copied))
    taken = 0
    while True:
        watched = WatchedObjects(copied, killed_at(1))
        try:
            save(site.store, watched)
        except Killed:
            taken += 1
        else:
            break
        assert layout.names(DirectoryObjects(copied)) == before
    assert taken > 5, "each took one thing further"
    restored = bring_back(copied, tmp_path / "restored")
    wanted = content(site.store.root)
    del wanted["acme/asset_use.json"]
    assert content(restored.root) == wanted


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))])
def test_a_restore_that_was_killed_leaves_nothing_current_and_is_done_again(
    site: Site, copied: Path, tmp_path: Path, seed: int
) -> None:
    wanted = content(bring_back(copied, tmp_path / "fresh").root)
    site.publish("newer")
    site.key()
    chance = random.Random(seed)
    for number in sorted(chance.sample(range(1, 60), 6)):
        watched = WatchedObjects(site.store.root, killed_at(number))
        directory = open_store(site.store.root)
        try:
            objects = DirectoryObjects(copied)
            restore(objects, checked(objects), place_of(watched), now=now_ms(), force=True)
        except Killed:
            assert directory.workspace("acme").current() is None, number
        else:
            break
    bring_back(copied, site.store, force=True)
    assert content(site.store.root) == wanted


def place_of(watched: WatchedObjects) -> Any:
    """A store in a directory whose objects are watched."""

    class Place:
        bucket = None
        objects = watched
        location = watched.location

    return Place()


def test_versions_that_are_pruned_meanwhile(site: Site, tmp_path: Path) -> None:
    """What is saved is whole, and what is current is there, whatever goes meanwhile."""
    for text in ("four", "five", "six"):
        site.publish(text)
    steps, one_at_a_time = [0], threading.Lock()

    def before(step: str, key: str) -> None:
        if step == "as_file" and "/snapshots/" in key:
            with one_at_a_time:
                steps[0] += 1
                if steps[0] in {2, 9, 20}:
                    site.publish(f"meanwhile {steps[0]}")
                    site.place.prune(1)

    watched = Store(site.store.root, site.store.cache, WatchedObjects(site.store.root, before))
    made = save(watched, tmp_path / "place")
    assert made.complaints == ()
    assert steps[0] > 2
    checked(DirectoryObjects(tmp_path / "place"))
    of_workspace = [0]

    def between(step: str, key: str) -> None:
        """Prune after the manifests were read, before the objects are listed; the place has all content already."""
        if (step, key) == ("names", "acme"):
            of_workspace[0] += 1
            if of_workspace[0] == 2:
                site.publish("at last")
                site.place.prune(1)

    for text in ("seven", "eight", "nine"):
        site.publish(text)
    save(site.store, tmp_path / "place")
    again = save(Store(site.store.root, site.store.cache, WatchedObjects(site.store.root, between)), tmp_path / "place")
    assert (again.complaints, of_workspace[0] >= 2) == ((), True)
    assert again.named.backup.workspaces[0].current is not None
    restored = bring_back(tmp_path / "place", tmp_path / "restored").workspace("acme")
    current = restored.current()
    assert current is not None
    assert current.version in restored.versions()
    assert [restored.verify(version) for version in restored.versions()] == [[]] * len(restored.versions())


def test_a_prune_meanwhile_leaves_what_is_restored_into_a_bucket(copied: Path, tmp_path: Path) -> None:
    """A timer prunes while files are there that versions share, and no manifest that names them."""
    bucket = PrunedMeanwhile(tmp_path / "bucket")
    store = Store(tmp_path / "here", tmp_path / "here-cache", bucket)
    bring_back(copied, store)
    assert bucket.pruned
    restored = store.workspace("acme")
    assert [restored.verify(version) for version in restored.versions()] == [[]] * 3
    restored.prune(9)
    assert restored.verify(restored.versions()[0]) == []
    bring_back(copied, store, force=True)
    assert [restored.verify(version) for version in restored.versions()] == [[]] * 3


class PrunedMeanwhile(Bucket):
    """A bucket of which each version is pruned right before its manifest is there."""

    pruned = 0

    def create_copy(self, key: str, source: Path) -> None:
        if key.endswith(f"/{MANIFEST}"):
            pruner = self.root.parent / "pruner"
            Store(pruner, pruner / ".cache", self).workspace("acme").prune(9)
            self.pruned += 1
        super().create_copy(key, source)

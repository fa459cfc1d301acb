"""The mirror over a directory that plays the bucket: the same calls, with faults put in by hand."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from engine.access.keys.access import ACCESS, ACCESS_CODEC, AccessFile, disable_key
from engine.access.keys.last_use import encode_uses, last_uses
from server.mirror.behind import ALL, COUNTS, CURRENT_VERSION, KEYS
from server.mirror.contact import VIEWS_CONTACT, Contact, ContactPage
from server.mirror.followed import FIRST_PAUSE_MS, FollowedWorkspace
from server.mirror.freshness import LOST_MS, SILENT_MS, Freshness
from server.mirror.last_use import LastUseSharing
from server.mirror.mirror import ROUND_MS, WATCHED_A_POLL, WATCHED_MS
from snapshots.store import store
from snapshots.store.carrying import DROPPED, FILES
from snapshots.store.changes import announce
from snapshots.store.current import current_document
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.durable import StoreError
from snapshots.store.objects import ANY, ObjectContent, Objects, StoreUnreachable, Unchanged
from snapshots.store.store import CURRENT, Store
from tests.sites.bucket_site import BucketSite
from tests.stores.mirrored_machine import KEPT, SECOND, Bucket, Machine
from tests.stores.store_content import publish


class Killed(BaseException):
    """The end of a process at this place."""


@pytest.fixture
def bucket(tmp_path: Path) -> Bucket:
    return Bucket(tmp_path / "bucket")


@pytest.fixture
def site(tmp_path: Path, bucket: Bucket) -> BucketSite:
    return BucketSite(tmp_path, bucket)


@pytest.fixture
def machine(tmp_path: Path, bucket: Bucket) -> Machine:
    return Machine(tmp_path / "machine", bucket)


def test_a_mirror_has_the_current_version_and_the_keys(site: BucketSite, machine: Machine) -> None:
    site.release("one")
    version = site.release("two")
    site.released_key()
    machine.poll()
    place = machine.store.workspace("acme")
    assert (machine.version(), machine.is_whole()) == (version, True)
    assert place.current() == site.place.current()
    assert place.versions() == [version]
    assert AccessFile(place.directory).read() == site.access.read()
    assert stat.S_IMODE((place.directory / ACCESS).stat().st_mode) == 0o600
    assert machine.page().complete
    assert machine.page().at == machine.now


def test_a_new_version_is_followed_at_the_next_poll_and_fetches_only_what_changed(
    site: BucketSite, bucket: Bucket, machine: Machine
) -> None:
    site.release("one")
    machine.poll()
    bucket.fetched.clear()
    site.source.joinpath("content", "site.yaml").touch()
    before = site.entries
    site.entries = before + 1
    version = site.release("one")
    machine.poll()
    assert machine.version() == version
    assert machine.is_whole()
    data = [key for key in bucket.fetched if f"/{FILES}/" in key]
    assert data
    assert all("/posts/" in key for key in data), "the object's files are those of the version before"
    linked = machine.store.workspace("acme").snapshots / version / "en/site/all.parquet"
    assert linked.stat().st_nlink >= 2


def test_going_back_fetches_nothing(site: BucketSite, bucket: Bucket, machine: Machine) -> None:
    first = site.release("one")
    machine.poll()
    site.release("two")
    machine.poll()
    bucket.fetched.clear()
    site.activate(first)
    site.push_current()
    machine.poll()
    assert machine.version() == first
    assert bucket.fetched == []


def test_what_is_not_announced_is_found_within_a_minute(site: BucketSite, bucket: Bucket, machine: Machine) -> None:
    site.release("one")
    machine.poll()
    version = site.publish("two")
    site.push_version(version)
    bucket.replace(f"acme/{CURRENT}", (site.place.directory / CURRENT).read_bytes(), ANY)
    machine.poll()
    assert machine.version() != version
    machine.poll(after=ROUND_MS)
    assert machine.version() == version


def told_once(bucket: Bucket, machine: Machine) -> Callable[[Objects, str], None]:
    """What announces changes of a process that is killed before it does so a second time; the machine polls soon after
    the first time."""
    told: list[str] = []

    def tell(objects: Objects, workspace: str) -> None:
        if told:
            raise Killed
        told.append(workspace)
        announce(objects, workspace)
        machine.poll()

    return tell


@pytest.mark.undisturbed  # it ends at the first announcement of its one try
def test_a_version_is_followed_at_once_although_whoever_activated_it_was_killed(
    tmp_path: Path, site: BucketSite, bucket: Bucket, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.release("one")
    machine.poll()
    version = site.publish("two")
    site.push_version(version)
    builder = Store(tmp_path / "builder", tmp_path / "cache", bucket).workspace("acme")
    monkeypatch.setattr(store, "announce", told_once(bucket, machine))
    with pytest.raises(Killed):
        builder.activate(version, expected=ANY, by="builder", now=machine.now)
    machine.poll()
    assert machine.version() == version
    machine.poll(after=WATCHED_MS)
    bucket.asked.clear()
    machine.mirror.poll()
    assert +bucket.asked == {"read_if_changed": 1}, "all is as before"


def test_many_versions_at_once_do_not_make_polls_long(tmp_path: Path, bucket: Bucket, machine: Machine) -> None:
    sites = [BucketSite(tmp_path / str(number), bucket, f"w{number}") for number in range(WATCHED_A_POLL + 3)]
    machine.poll()
    versions = [site.release("one") for site in sites]
    machine.poll()
    assert [machine.version(site.workspace) for site in sites] == versions
    for _ in range(3):
        bucket.asked.clear()
        machine.now += SECOND
        machine.mirror.poll()
        assert bucket.asked["read_if_changed"] + bucket.asked["read"] == 1 + 2 * WATCHED_A_POLL


@pytest.mark.undisturbed  # it ends at the first announcement of its one try
def test_a_key_is_followed_at_once_although_whoever_disabled_it_was_killed(
    tmp_path: Path, site: BucketSite, bucket: Bucket, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.release("one")
    issued, _ = site.released_key()
    machine.poll()
    place = Store(tmp_path / "people", tmp_path / "cache", bucket).workspace("acme")
    monkeypatch.setattr(store, "announce", told_once(bucket, machine))
    with pytest.raises(Killed):
        disable_key(AccessFile(place), issued.prefix)
    machine.poll()
    mirrored = AccessFile(machine.store.workspace("acme").directory).read()
    assert mirrored is not None
    assert [key.disabled for key in mirrored.keys] == [True]


def test_a_workspace_that_is_new_to_the_store_is_followed(
    tmp_path: Path, site: BucketSite, bucket: Bucket, machine: Machine
) -> None:
    site.release("one")
    machine.poll()
    other = BucketSite(tmp_path / "other", bucket, "beta")
    version = other.release("new")
    machine.poll()
    assert machine.version("beta") == version
    silent = BucketSite(tmp_path / "silent", bucket, "gamma")
    version = silent.publish("new")
    silent.push_version(version)
    bucket.replace(f"gamma/{CURRENT}", (silent.place.directory / CURRENT).read_bytes(), ANY)
    machine.poll(after=ROUND_MS)
    assert machine.version("gamma") == version


def test_folders_that_are_no_workspaces_do_no_harm(site: BucketSite, bucket: Bucket, machine: Machine) -> None:
    for key in ("_probe/x", "UPPER/current", "logs/2026/a.log", "loose.txt"):
        bucket.create(key, b"something")
    version = site.release("one")
    machine.poll()
    machine.poll(after=ROUND_MS)
    assert machine.version() == version
    assert machine.page().reachable
    assert machine.store.workspaces() == ["acme"]


def test_nothing_changes_with_at_most_70_requests_a_minute(tmp_path: Path, bucket: Bucket, machine: Machine) -> None:
    for number in range(12):
        site = BucketSite(tmp_path / str(number), bucket, f"w{number}")
        site.release("one")
        site.released_key()
    machine.poll()
    for _ in range(3):
        bucket.asked.clear()
        for _ in range(60):
            machine.now += SECOND
            machine.mirror.poll()
        assert bucket.asked.total() <= 70, bucket.asked
        assert bucket.asked["fetch"] == bucket.asked["names"] == 0


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param(lambda path: path.unlink(), id="missing"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:-7]), id="truncated"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes() + b"x"), id="longer"),
        pytest.param(lambda path: path.write_bytes(flipped(path.read_bytes())), id="corrupted"),
        pytest.param(lambda path: path.write_bytes(b""), id="empty"),
    ],
)
@pytest.mark.parametrize("name", ["en/posts/all.parquet", "_search/en/posts/all.parquet", "manifest.json"])
def test_a_version_that_is_not_whole_leaves_the_old_one(
    site: BucketSite,
    bucket: Bucket,
    machine: Machine,
    harm: Callable[[Path], None],
    name: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    first = site.release("one")
    machine.poll()
    second = site.publish("two")
    site.push_version(second)
    object_ = bucket.root / site.object_key(second, name)
    whole = object_.read_bytes()
    object_.chmod(0o644)
    harm(as_its_own(object_))
    site.push_current()
    machine.poll()
    assert machine.version() == first
    assert machine.is_whole()
    assert machine.page().refused["acme"].version == second
    assert machine.page().reachable
    told = [record for record in caplog.records if second in record.getMessage()]
    assert len(told) == 1
    pauses = []
    for _ in range(3):
        before = machine.page().refused["acme"].retry_at
        machine.poll(after=before - machine.now)
        pauses.append(machine.page().refused["acme"].retry_at - machine.now)
    assert pauses == [2 * FIRST_PAUSE_MS, 4 * FIRST_PAUSE_MS, 8 * FIRST_PAUSE_MS]
    assert len([record for record in caplog.records if second in record.getMessage()]) == 1
    object_.unlink(missing_ok=True)
    object_.write_bytes(whole)
    machine.poll(after=pauses[-1])
    assert machine.version() == second
    assert machine.is_whole()
    assert machine.page().refused == {}


def as_its_own(path: Path) -> Path:
    """The file without its other names: what is done to it is done to no other store."""
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data)
    return path


def flipped(data: bytes) -> bytes:
    return data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]


def test_a_version_that_is_not_whole_is_passed_over_by_the_next(
    site: BucketSite, bucket: Bucket, machine: Machine
) -> None:
    site.release("one")
    machine.poll()
    second = site.publish("two")
    site.push_version(second)
    (bucket.root / site.object_key(second, "en/posts/all.parquet")).unlink()
    site.push_current()
    machine.poll()
    third = site.release("three")
    machine.poll()
    assert machine.version() == third
    assert machine.page().refused == {}
    left = {entry.name for entry in machine.store.workspace("acme").snapshots.iterdir() if entry.name[0] != "."}
    assert second not in left, "what there was of it is deleted"


@pytest.mark.parametrize("name", [CURRENT, ACCESS])
@pytest.mark.parametrize("document", [b"", b"{", b'{"version": "../../etc"}', b"\xff\xfe"])
def test_a_damaged_document_changes_nothing(
    site: BucketSite, bucket: Bucket, machine: Machine, name: str, document: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    site.release("one")
    site.released_key()
    machine.poll()
    mirrored = machine.store.workspace("acme").directory / name
    before = mirrored.read_bytes()
    whole = bucket.read(f"acme/{name}")
    assert whole is not None
    bucket.replace(f"acme/{name}", document, ANY)
    damaged_at = machine.now + ROUND_MS
    for _ in range(3):
        machine.poll(after=ROUND_MS)
    assert mirrored.read_bytes() == before
    assert len([record for record in caplog.records if record.levelname == "ERROR"]) == 1
    told = {"acme": {CURRENT_VERSION if name == CURRENT else KEYS: damaged_at}}
    assert (machine.page().behind, machine.page().unable) == (told, ()), "it is the store's fault"
    bucket.delete([f"acme/{name}"])
    for _ in range(3):
        machine.poll(after=ROUND_MS)
    assert mirrored.read_bytes() == before
    assert len([record for record in caplog.records if record.levelname == "ERROR"]) == 2
    assert machine.page().behind == told
    bucket.replace(f"acme/{name}", whole.data, ANY)
    version = site.release("two")
    machine.poll(after=ROUND_MS)
    assert machine.version() == version
    assert machine.page().behind == {}


def test_a_process_that_does_not_go_on_is_told_and_later_makes_the_machine_unready(
    site: BucketSite, bucket: Bucket, machine: Machine
) -> None:
    site.release("one")
    ContactPage(machine.store.root, VIEWS_CONTACT).write(Contact(written_at=machine.now - LOST_MS - 1))
    machine.poll()
    freshness = Freshness(machine.store, None, lambda: machine.now)
    wrote_at = machine.now
    for silence, told, unable in (
        (SILENT_MS, {}, []),
        (SILENT_MS + 1, {ALL: wrote_at}, []),
        (LOST_MS, {ALL: wrote_at}, []),
        (LOST_MS + 1, {ALL: wrote_at, COUNTS: wrote_at - SECOND - LOST_MS - 1}, ["acme"]),
    ):
        machine.now = wrote_at + silence
        assert freshness.silent() == freshness.behind("acme") == told
        assert freshness.unable(["acme"]) == unable
    just_started = Freshness(machine.store, None, lambda: machine.now)
    assert (just_started.silent(), just_started.unable(["acme"])) == ({}, []), "the process is given time to start, too"
    bucket.reachable = False
    machine.poll()
    ContactPage(machine.store.root, VIEWS_CONTACT).write(Contact(written_at=machine.now))
    again = Freshness(machine.store, None, lambda: machine.now)
    assert (again.silent(), again.unable(["acme"])) == ({}, []), "an outage of the store is not this machine's fault"


def test_a_long_round_says_that_it_goes_on(tmp_path: Path, bucket: Bucket, machine: Machine) -> None:
    for number in range(3):
        BucketSite(tmp_path / str(number), bucket, f"w{number}").released_key()
    seen: list[int | None] = []
    read = bucket.read

    def slow(key: str) -> ObjectContent | None:
        seen.append(machine.page().written_at)
        machine.now += 5 * SECOND
        return read(key)

    bucket.read = slow  # type: ignore[method-assign]
    began = machine.now
    machine.mirror.poll()
    assert len(seen) == 7
    asked_at = [began + number * 5 * SECOND for number in range(7)]
    assert all(at is not None and asked - at <= 10 * SECOND for asked, at in zip(asked_at, seen, strict=True))


def test_an_outage_is_told_once_and_so_is_its_end(
    site: BucketSite, bucket: Bucket, machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    site.release("one")
    machine.poll()
    contact = machine.page().at
    bucket.reachable = False
    for _ in range(30):
        machine.poll()
    assert machine.page().at == contact
    assert machine.page().age(machine.now) == 30
    assert not machine.page().reachable
    assert sum("cannot be reached" in record.getMessage() for record in caplog.records) == 1
    version = site.publish("two")
    bucket.reachable = True
    site.push_version(version)
    site.push_current()
    machine.poll()
    assert machine.version() == version
    assert machine.page().at == machine.now
    assert sum("answers again" in record.getMessage() for record in caplog.records) == 1


def test_a_pull_that_an_outage_cuts_off_goes_on_after_it(site: BucketSite, bucket: Bucket, machine: Machine) -> None:
    site.release("one")
    machine.poll()
    version = site.publish("two")
    site.push_version(version)
    site.push_current()
    bucket.fetched.clear()
    fetch = bucket.fetch

    def cut_off(key: str, path: Path, size: int, sha256: str) -> None:
        if bucket.fetched:
            raise StoreUnreachable("cannot read: no answer.")
        fetch(key, path, size, sha256)

    bucket.fetch = cut_off  # type: ignore[method-assign]
    machine.poll()
    assert machine.version() != version
    done = list(bucket.fetched)
    bucket.fetch = fetch  # type: ignore[method-assign]
    machine.poll(after=2 * FIRST_PAUSE_MS)
    assert machine.version() == version
    assert machine.is_whole()
    assert len(done) == 1
    assert bucket.fetched.count(done[0]) == 1, "what was fetched before the outage is not fetched again"


def test_a_machine_that_was_off_has_everything_after_its_first_poll(
    site: BucketSite, bucket: Bucket, machine: Machine
) -> None:
    site.release("one")
    machine.poll()
    for text in ("two", "three", "four"):
        version = site.release(text)
    site.released_key()
    later = Machine(machine.store.root, bucket)
    assert later.page().complete
    assert later.version() != version
    later.poll(after=24 * 3600 * SECOND)
    assert later.version() == version
    found = bucket.read(f"acme/{ACCESS}")
    assert found is not None
    assert AccessFile(later.store.workspace("acme").directory).read() == ACCESS_CODEC.decode(found.data, "")


def test_old_versions_leave_the_mirror(site: BucketSite, machine: Machine) -> None:
    versions = []
    for number in range(8):
        versions.append(site.release(f"number {number}"))
        machine.poll()
    place = machine.store.workspace("acme")
    assert place.versions() == versions[::-1], "by age, however many there are"
    machine.age(KEPT)
    versions.append(site.release("later"))
    machine.poll()
    assert place.versions() == versions[:-3:-1]
    assert all(place.verify(version) == [] for version in place.versions())
    assert place.current() == site.place.current()


def test_old_versions_give_way_where_the_disk_is_almost_full(
    site: BucketSite, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = []
    for number in range(4):
        versions.append(site.release(f"number {number}"))
        machine.poll()
    place = machine.store.workspace("acme")
    assert place.versions() == versions[::-1]
    monkeypatch.setattr(FollowedWorkspace, "_is_short_of_room", lambda _: True)
    versions.append(site.release("one more"))
    machine.age(0)
    machine.poll()
    assert place.versions() == versions[:-3:-1]


def test_a_pruned_version_leaves_the_mirror_at_once_whatever_is_being_pulled(
    site: BucketSite, bucket: Bucket, machine: Machine
) -> None:
    """Nor does it matter that the newest version cannot be had."""
    one, two = site.release("one"), ""
    machine.poll()
    two = site.release("two")
    machine.poll()
    place = machine.store.workspace("acme")
    assert place.versions() == [two, one]
    three = site.publish("three")
    site.push_version(three)
    bucket.delete([site.object_key(three, "en/posts/all.parquet")])
    site.push_current()
    machine.poll()
    assert machine.page().refused["acme"].version == three
    site.place.withdraw(one)
    site.push_current()
    machine.poll()
    assert (machine.version(), place.versions()) == (two, [two])


def test_pruning_a_bucket_is_announced(site: BucketSite, bucket: Bucket, machine: Machine, tmp_path: Path) -> None:
    one = site.release("one")
    machine.poll()
    site.release("two")
    machine.poll()
    store.Store(tmp_path / "work", tmp_path / "work" / ".cache", bucket).workspace("acme").withdraw(one)
    machine.poll()
    assert one not in machine.store.workspace("acme").versions()


def test_a_prune_that_was_killed_in_the_store_leaves_no_machine_behind(
    site: BucketSite, bucket: Bucket, machine: Machine
) -> None:
    """It has named in `current` what it was dropping, which the mirror has dropped, and forgets, long before."""
    first = site.release("one")
    machine.poll()
    site.release("two")
    machine.poll()
    machine.age(2 * KEPT)
    site.release("three")
    machine.poll()
    assert first not in machine.store.workspace("acme").versions()
    document = current_document(bucket, "acme")
    document.edit(lambda found, _: (found and msgspec.structs.replace(found, dropping=(first,)), None))
    announce(bucket, "acme")
    for _ in range(5):
        machine.poll()
    assert machine.page().behind == {}
    found = bucket.read(f"acme/{CURRENT}")
    assert found is not None
    assert (machine.store.root / "acme" / CURRENT).read_bytes() == found.data


@pytest.mark.parametrize("deletions", range(4))
def test_a_version_that_a_killed_mirror_was_dropping_is_pulled_when_it_is_current_again(
    site: BucketSite, bucket: Bucket, machine: Machine, deletions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = []
    for number in range(2):
        versions.append(site.release(f"number {number}"))
        machine.poll()
    machine.age(KEPT)
    delete, left = DirectoryObjects.delete, deletions

    def some(objects: DirectoryObjects, keys: Iterable[str]) -> int:
        nonlocal left
        for key in keys:
            if not left:
                raise Killed
            delete(objects, [key])
            left -= 1
        return 0

    site.release("one too many")
    with monkeypatch.context() as patch:
        patch.setattr(DirectoryObjects, "delete", some)
        with pytest.raises(Killed):
            machine.poll()
    mark = machine.store.workspace("acme").snapshots / versions[0] / DROPPED
    assert mark.exists()
    site.activate(versions[0])
    site.push_current()
    later = Machine(machine.store.root, bucket)
    later.poll()
    assert (later.version(), later.is_whole()) == (versions[0], True)
    assert later.page().refused == {}
    assert not mark.exists()


def test_the_mirrors_own_folders_stay(site: BucketSite, machine: Machine) -> None:
    site.release("one")
    machine.poll()
    spool = machine.store.workspace("acme").directory / "views" / "spool"
    spool.mkdir(parents=True)
    site.release("two")
    machine.poll()
    assert spool.is_dir()


def test_a_version_is_followed_once_its_assets_are_there(
    site: BucketSite, bucket: Bucket, machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    first = site.release("one")
    machine.poll()
    (site.source / "cover.png").write_bytes(b"a picture")
    manifest = publish(site.place, 1, {}, site.source, ["cover.png"])
    second, [asset] = manifest.version, manifest.asset_names
    site.activate(second)
    site.push_version(second)
    site.push_current()
    machine.poll()
    assert machine.version() == first
    assert machine.page().refused["acme"].version == second
    assert any(asset in record.getMessage() for record in caplog.records)
    bucket.create(f"acme/assets/{asset}", b"a picture")
    machine.poll(after=ROUND_MS)
    assert (machine.version(), machine.is_whole()) == (second, True)
    site.activate(first)
    site.push_current()
    machine.poll()
    (machine.store.workspace("acme").assets / asset).unlink()
    site.activate(second)
    site.push_current()
    machine.poll()
    assert (machine.version(), machine.is_whole()) == (second, True), "a version that it has is completed"


@pytest.mark.parametrize(
    "harm", [Path.unlink, lambda path: path.write_bytes(path.read_bytes()[:-7])], ids=["missing", "cut off"]
)
@pytest.mark.parametrize("name", ["en/posts/all.parquet", "_search/en/posts/all.parquet"])
def test_a_version_of_which_files_were_lost_here_is_completed_by_the_next_process(
    site: BucketSite, tmp_path: Path, bucket: Bucket, machine: Machine, harm: Callable[[Path], None], name: str
) -> None:
    version = site.release("one")
    machine.poll()
    lost = as_its_own(machine.store.workspace("acme").snapshots / version / name)
    lost.chmod(0o644)
    harm(lost)
    assert not machine.is_whole()
    again = Machine(tmp_path / "machine", bucket)
    again.poll()
    assert (again.version(), again.is_whole()) == (version, True)


def test_a_workspace_that_cannot_be_looked_at_holds_up_no_other(
    tmp_path: Path, bucket: Bucket, machine: Machine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sites = [BucketSite(tmp_path / name, bucket, name) for name in ("alpha", "beta", "gamma")]
    for site in sites:
        site.release("one")
    machine.poll()
    for site in sites:
        site.released_key()
    versions = [site.release("two") for site in sites]
    whole = Bucket.read_if_changed

    def read_if_changed(bucket: Bucket, key: str, tag: str) -> ObjectContent | Literal[Unchanged.UNCHANGED] | None:
        if key.startswith("alpha/"):
            raise StoreError("alpha is refused to this machine.")
        if key.startswith("beta/"):
            raise StoreUnreachable("beta is not to be had.")
        return whole(bucket, key, tag)

    with monkeypatch.context() as failing:
        failing.setattr(Bucket, "read_if_changed", read_if_changed)
        for _ in range(3):
            machine.poll()
        assert machine.version("gamma") == versions[2]
        assert AccessFile(machine.store.workspace("gamma").directory).read() == sites[2].access.read()
        assert machine.page().reachable
        assert not {machine.version("alpha"), machine.version("beta")} & set(versions)
        for refusal in ("alpha is refused", "beta is not to be had"):
            assert len([record for record in caplog.records if refusal in record.getMessage()]) == 1
    machine.poll()
    assert [machine.version(site.workspace) for site in sites] == versions


def test_a_workspace_in_which_last_uses_are_refused_holds_up_no_other(
    tmp_path: Path, bucket: Bucket, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.poll()
    for workspace in ("alpha", "beta"):
        uses = machine.store.root / workspace / "last_use"
        uses.mkdir(parents=True)
        (uses / "1-a.json").write_bytes(encode_uses({"key": 1}))
    whole = Bucket.replace

    def replace(bucket: Bucket, key: str, *given: Any, **options: Any) -> str:
        if key.startswith("alpha/"):
            raise StoreError("alpha is refused to this machine.")
        return whole(bucket, key, *given, **options)

    monkeypatch.setattr(Bucket, "replace", replace)
    sharing = LastUseSharing(bucket, machine.store)
    sharing.share(["alpha", "beta"])
    assert last_uses(bucket, "beta") == {"key": 1}

"""Every command against a store in a bucket, as against one in a directory."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("obstore", reason="obstore is not installed: pip install 'parquetry[objects]'")

from snapshots.store.carrying import file_keys
from snapshots.store.current import CURRENT_CODEC
from snapshots.store.locations import open_objects
from snapshots.store.objects import ANY
from snapshots.store.store import open_store
from tests.programs.command_line import CMS, MAIN, Cms, entry, in_process, write_workspace
from tests.programs.copied_process import started
from tests.sites.served_site import eventually
from tests.stores.object_stores import ObjectStore, object_store
from tests.stores.store_proxy import store_proxy


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStore]:
    with object_store("any") as running, pytest.MonkeyPatch.context() as patch:
        for name, value in running.environment.items():
            patch.setenv(name, value)
        yield running


@pytest.fixture
def bucket(server: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty place in a bucket, which CMS_STORE names; the workspace ``site`` is the current directory."""
    place = server.place()
    monkeypatch.setenv("CMS_STORE", place)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(write_workspace(tmp_path / "site"))
    return place


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    return in_process(monkeypatch, capsys)


def build(cms: Cms, number: int, *options: str) -> str:
    Path("content/blog/one.md").write_text(entry(f"Number {number}"), encoding="utf-8")
    ran = cms("snapshot", "build", "--json", *options)
    assert ran.status == 0, ran.err
    assert ran.json["activated"]
    return str(ran.json["version"])


@pytest.mark.slow
def test_versions_are_built_compared_moved_and_dropped(cms: Cms, bucket: str, tmp_path: Path) -> None:
    first, second, third = build(cms, 1), build(cms, 2), build(cms, 3)
    assert not cms("snapshot", "build", "--json").json["changed"]
    assert [one["version"] for one in cms("snapshot", "list", "--json").json] == [third, second, first]
    assert cms("snapshot", "show", "--json").status == 0
    changed = cms("snapshot", "diff", first, third, "--json").json["entries"]["changed"]
    assert [one["id"] for one in changed] == ["one"]
    assert cms("snapshot", "rollback", "--json").json["version"] == second
    assert cms("snapshot", "activate", third, "--json").json["version"] == third
    shutil.rmtree(tmp_path / "cache")  # what a machine has of the store is worth nothing but time
    assert cms("snapshot", "verify", first, "--json").json["ok"]
    assert "Number 3" in cms("query", "blog/one").out
    assert cms("snapshot", "prune", "--keep", "1", "--json").json["removed"] == [first]
    there = [one.key.removeprefix("site/snapshots/") for one in open_objects(bucket).names("site/snapshots")]
    assert {key.partition("/")[0] for key in there} == {first, second, third}
    assert [key for key in there if key.startswith(first)] == [f"{first}/dropped"], "for six minutes"
    assert cms("snapshot", "activate", first).status == 1
    assert cms("snapshot", "verify", "--json").json["ok"]


def test_files_that_stay_the_same_are_not_sent_again(
    cms: Cms, server: ObjectStore, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("content/authors").mkdir(exist_ok=True)
    Path("content/authors.yaml").write_text(
        "\n".join(f"- {{id: a{number}, createdAt: 2026-01-01, name: N{number * 7919}}}" for number in range(3000)),
        encoding="utf-8",
    )
    first = build(cms, 1)
    with store_proxy(server.port) as proxy:
        monkeypatch.setenv("CMS_STORE", bucket.replace(f":{server.port}/", f":{proxy.port}/"))
        second = build(cms, 2, "--without-cache")
        objects, place = open_objects(bucket), open_store(bucket).workspace("site")
        [sizes, before] = (
            {key: file.bytes for key, file in file_keys(objects, place.manifest(one)).items()}
            for one in (second, first)
        )
        manifest = sum(one.bytes for one in objects.names(f"site/snapshots/{second}"))
        written = manifest + sum(size for key, size in sizes.items() if key not in before)
        assert sum(size for key, size in sizes.items() if "authors" in key and key in before) > 10_000
        assert proxy.sent < written + 20_000


def test_a_damaged_version_is_deleted_and_built_again(cms: Cms, bucket: str) -> None:
    damaged = build(cms, 1)
    objects, place = open_objects(bucket), open_store(bucket).workspace("site")
    [key] = (key for key, one in file_keys(objects, place.manifest(damaged)).items() if one.path.startswith("en/blog/"))
    before = objects.read(key)
    assert before is not None
    sealed = max(one.modified_at for one in objects.names(f"site/snapshots/{damaged}"))
    eventually(lambda: time.time() * 1000 > sealed + 1000)  # the store tells seconds: later has to be seen as later
    objects.replace(key, before.data[:-9] + b"x" + before.data[-8:], ANY)
    assert cms("snapshot", "verify").status == 1
    built = cms("snapshot", "build", "--json").json
    assert (built["changed"], built["activated"]) == (True, True)
    assert cms("snapshot", "verify", "--json").json["ok"]


def test_keys_are_in_the_bucket_for_the_owner_alone_on_this_machine(cms: Cms, bucket: str) -> None:
    build(cms, 1)
    created = cms("key", "create", "app", "--json").json
    assert [one["prefix"] for one in cms("key", "list", "--json").json] == [created["prefix"]]
    assert cms("key", "disable", created["prefix"]).status == 0
    assert cms("key", "list", "--json").json[0]["state"] == "disabled"
    found = open_objects(bucket).read("site/access.json")
    assert found is not None
    assert created["key"].encode() not in found.data
    assert cms("draft", "list", "--json").status == 0
    hint = open_objects(bucket).read("changes.json")
    assert hint is not None
    assert b'"site"' in hint.data


@pytest.mark.slow
def test_of_two_activations_at_once_one_is_told_by_whom(cms: Cms, bucket: str) -> None:
    versions = [build(cms, number) for number in range(4)]
    for turn in range(5):
        others = versions[turn % 2], versions[turn % 2 + 1]
        with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
            running = [
                started(MAIN, [str(Path.cwd()), "snapshot", "activate", version], os.environ, errors)
                for version in others
            ]
            for process in running:
                process.communicate()
            codes = sorted(process.wait() for process in running)
            errors.seek(0)
            told = errors.read()
        assert codes in ([0, 0], [0, 1]), told
        assert codes == [0, 0] or "activated it meanwhile" in told, told
        found = open_objects(bucket).read("site/current")
        assert found is not None
        current = CURRENT_CODEC.decode(found.data, "current")
        assert current.version in others
        assert len(set(current.writes)) == len(current.writes)
        cms("snapshot", "activate", versions[3])


@pytest.mark.slow
def test_two_builders_at_once_leave_one_current_version_and_both_built(
    cms: Cms, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(cms, 1)
    builders = []
    for name in ("one", "two"):
        site = write_workspace(tmp_path / name)
        (site / "content/blog/one.md").write_text(entry(f"By {name}"), encoding="utf-8")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / f"cache-{name}"))
        builders.append(
            subprocess.Popen([*CMS, "snapshot", "build", str(site)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        )
    errors = [process.communicate(timeout=60)[1].decode() for process in builders]
    codes = sorted(process.returncode for process in builders)
    assert codes in ([0, 0], [0, 1]), errors
    listed = cms("snapshot", "list", "--json").json
    assert len(listed) == 3
    assert sum(one["current"] for one in listed) == 1
    assert all(cms("snapshot", "verify", one["version"], "--json").json["ok"] for one in listed)


@pytest.mark.slow
def test_what_readers_open_of_a_version_is_in_the_bucket_before_it_is_current(cms: Cms, bucket: str) -> None:
    objects = open_objects(bucket)

    def parts() -> set[str]:
        return {one.key.split("/")[3] for one in objects.names("site/cache")}

    build(cms, 1)
    shared = parts()
    assert len(shared) == 2
    build(cms, 2)
    assert len(parts() - shared) == 1, "of an API that did not change, it is there already"
    build(cms, 3)
    assert cms("snapshot", "prune", "--keep", "1").status == 0
    left = parts()
    assert len(left) == 3, "the two current last share one"
    objects.create("site/cache/layout-1/0011/0123456789abcdef.bodies", b"of a killed builder")
    assert cms("snapshot", "prune").status == 0
    assert parts() == left
    Path("content/blog/one.md").write_text(entry("Number 4"), encoding="utf-8")
    assert cms("snapshot", "build", "--without-cache").status == 0
    assert parts() == left
    assert "the cache of readers" in cms("snapshot", "verify", "--json").json["notCovered"][0]


def test_verify_tells_what_was_put_in_the_place_of_readers_files(cms: Cms, bucket: str) -> None:
    build(cms, 1)
    objects = open_objects(bucket)
    assert cms("snapshot", "verify", "--json").json["notCovered"] == []
    altered, missing, *_ = objects.names("site/cache")
    objects.replace(altered.key, b"x" * altered.bytes, ANY)  # as credentials that write there can
    objects.delete([missing.key])
    verified = cms("snapshot", "verify")
    assert verified.status == 1
    assert f"{altered.key}: has the SHA-256" in verified.out
    assert f"{missing.key}: is missing" in verified.out


def test_a_store_out_of_reach_is_named(cms: Cms, bucket: str, server: ObjectStore) -> None:
    ran = cms("snapshot", "list", "--store", "s3+http://127.0.0.1:1/bucket/place")
    assert ran.status == 1
    assert ran.err.startswith("error: cannot read s3+http://127.0.0.1:1/bucket/place/site/current: the store gives no")
    assert server.environment["AWS_SECRET_ACCESS_KEY"] not in ran.err


@pytest.mark.slow
def test_versions_are_pushed_and_pulled_between_stores(
    cms: Cms, bucket: str, server: ObjectStore, tmp_path: Path
) -> None:
    first, second = build(cms, 1), build(cms, 2)
    directory, other = tmp_path / "directory", server.place()
    pulled = cms("snapshot", "pull", bucket, "--store", directory, "--json").json
    assert [(one["workspace"], one["versions"], one["current"]) for one in pulled] == [("site", 2, None)]
    assert pulled[0]["copied"] > 0
    assert cms("snapshot", "verify", second, "-w", "site", "--store", directory, "--json").json["ok"]
    pushed = cms("snapshot", "push", other, "--store", directory, "--activate", "--json").json
    assert (pushed[0]["versions"], pushed[0]["current"]) == (2, None)
    cms("snapshot", "activate", first, "-w", "site", "--store", directory)
    again = cms("snapshot", "push", other, "--store", directory, "--activate", "--json").json
    assert (again[0]["versions"], again[0]["sent"], again[0]["current"]) == (0, 0, first)
    said = cms("snapshot", "pull", other, "--store", tmp_path / "third").out
    assert "site: " in said
    assert "2 snapshot versions copied" in said
    assert cms("snapshot", "push", other, "--store", tmp_path / "nothing").status == 1


@pytest.mark.slow
def test_a_store_is_checked(cms: Cms, bucket: str, server: ObjectStore, tmp_path: Path) -> None:
    build(cms, 1)
    found = cms("store", "check", "--readers", "10", "--json").json
    assert found["usable"]
    assert all(found[name] for name in ("read", "list", "write", "conditions", "copy", "delete"))
    assert found["workspaces"] == 1
    assert found["costs"]["requestsAnHour"] == 10 * (60 * 61 + 12 + 30) + 60 * (9 * 3 + 6)
    assert 14 < found["costs"]["dollarsAMonth"] < 16
    assert not [one for one in open_objects(bucket).names("") if "probe" in one.key]
    cms("webhook", "add", "https://receiver.example/")
    told = cms("store", "check", "--readers", "10", "--json").json["costs"]
    assert told["requestsAnHour"] == found["costs"]["requestsAnHour"] + 60 * (9 * 2 + 2)
    text = cms("store", "check").out
    assert "with the storage and webhooks" in text
    assert "yes, under conditions" in text
    assert max(map(len, text.splitlines()[1:])) <= 80
    local = cms("store", "check", "--store", tmp_path / "local", "--json").json
    assert local["usable"]
    assert local["costs"] is None
    with store_proxy(server.port) as proxy:
        proxy.headers = lambda headers: {name: value for name, value in headers.items() if name != "if-match"}
        ran = cms("store", "check", "--store", bucket.replace(f":{server.port}/", f":{proxy.port}/"))
    assert ran.status == 1
    assert "replaces an object although it has been changed" in ran.err
    unreachable = cms("store", "check", "--store", "s3+http://127.0.0.1:1/bucket")
    assert unreachable.status == 1
    assert "holds" not in unreachable.out
    assert "costs" not in unreachable.out


@pytest.mark.parametrize("flag", [[], ["--json"]])
def test_a_bucket_that_does_not_exist_is_told_without_a_cost(cms: Cms, server: ObjectStore, flag: list[str]) -> None:
    found = cms("store", "check", "--store", f"s3+http://127.0.0.1:{server.port}/no-such-bucket/store", *flag)
    assert found.status == 1
    assert "cost" not in found.out
    assert 'there is no bucket "no-such-bucket". Create it, or correct the name.' in found.err

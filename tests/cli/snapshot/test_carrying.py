"""``cms snapshot pull`` from a bucket whose objects are damaged, and killed half-way."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from fnmatch import fnmatch
from pathlib import Path

import pytest

pytest.importorskip("obstore", reason="obstore is not installed: pip install 'parquetry[objects]'")

from snapshots.store.buckets.bucket_objects import BucketObjects
from snapshots.store.carrying import file_keys
from snapshots.store.durable import StoreError
from snapshots.store.locations import open_objects
from snapshots.store.objects import ANY, Objects
from snapshots.store.store import WorkspaceStore, open_store
from tests.programs.command_line import CMS, Cms, entry, in_process, write_workspace
from tests.project.test_docs import page
from tests.servers.tcp_proxy import tcp_proxy
from tests.stores.object_stores import ObjectStore, object_store


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStore]:
    with object_store("any") as running, pytest.MonkeyPatch.context() as patch:
        for name, value in running.environment.items():
            patch.setenv(name, value)
        yield running


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    return in_process(monkeypatch, capsys)


@pytest.fixture
def bucket(server: ObjectStore, tmp_path: Path, cms: Cms, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store in a bucket with two versions of the workspace ``site``, of which the later is current."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(write_workspace(tmp_path / "site"))
    place = server.place()
    for number in range(2):
        Path("content/blog/one.md").write_text(entry(f"Number {number}"), encoding="utf-8")
        assert cms("snapshot", "build", "--store", place).status == 0
    return place


def pulled(directory: Path) -> WorkspaceStore:
    return open_store(directory).workspace("site")


def files(directory: Path) -> set[str]:
    """What there is of the versions of a store, with what is hidden."""
    root = directory / "site" / "snapshots"
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_what_is_being_deleted_there_is_left_and_the_rest_is_copied(cms: Cms, bucket: str, tmp_path: Path) -> None:
    here = str(tmp_path / "here")
    assert cms("snapshot", "pull", bucket, "--store", here).status == 0
    there = open_store(bucket).workspace("site")
    newest, oldest = there.versions()
    assert cms("snapshot", "build", "--store", bucket, "--keep", "2").status == 0
    Path("content/blog/one.md").write_text(entry("Number 3"), encoding="utf-8")
    assert cms("snapshot", "build", "--store", bucket, "--keep", "2").status == 0
    assert oldest not in there.versions()
    pushed = cms("snapshot", "push", bucket, "--store", here)
    assert pushed.status == 0
    assert pushed.err == f"left {oldest}: {bucket} is deleting it, or was a few minutes ago\n"
    assert oldest not in there.versions()
    assert cms("snapshot", "rollback", "--store", bucket).status == 0
    assert there.current().version == newest  # type: ignore[union-attr]
    assert cms("snapshot", "activate", oldest, "--store", here).status == 0
    pushed = cms("snapshot", "push", bucket, "--store", here, "--activate")
    assert pushed.status == 1
    assert "Try again six minutes after its end" in pushed.err


HARMS: dict[str, tuple[Callable[[bytes], bytes | None], str]] = {
    "missing": (lambda _: None, "is not there"),
    "truncated": (lambda data: data[:-7], "bytes instead of"),
    "damaged": (lambda data: data[:9] + bytes([data[9] ^ 1]) + data[10:], "has the SHA-256"),
    "empty": (lambda _: b"", "has 0 bytes instead of"),
}
"""What is done to an object, and what is told of it."""


@pytest.mark.parametrize("which", [0, 1], ids=["newest", "oldest"])
def test_a_damaged_object_is_named_and_the_rest_is_copied(cms: Cms, bucket: str, tmp_path: Path, which: int) -> None:
    for name, (harm, told) in HARMS.items():
        a_damaged_object_is_named_and_the_rest_is_copied(cms, bucket, tmp_path / name, harm, told, which)


def a_damaged_object_is_named_and_the_rest_is_copied(
    cms: Cms, bucket: str, target: Path, harm: Callable[[bytes], bytes | None], told: str, which: int
) -> None:
    """``target`` is named for the harm, and so are the files of a failure."""
    objects = open_objects(bucket)
    versions = open_store(bucket).workspace("site").versions()
    damaged, whole = versions[which], versions[1 - which]
    files_there = file_keys(objects, open_store(bucket).workspace("site").manifest(damaged))
    [key] = (key for key, one in files_there.items() if one.path == "en/blog/all.parquet")
    before = objects.read(key)
    assert before is not None
    put(objects, key, harm(before.data))
    ran = cms("snapshot", "pull", bucket, "--store", target, "--activate")
    assert ran.status == 1, target
    for words in (f"{bucket}/{key}", told, f"version {damaged} of site", "Restore the object", "run this again"):
        assert words in " ".join(ran.err.split()), ran.err
    place = pulled(target)
    assert place.versions() == [whole], target
    assert place.verify(whole) == []
    current = place.current()
    assert (None if current is None else current.version) == (None if which == 0 else whole)
    assert f"{damaged}/en/blog/all.parquet" not in files(target)
    assert not [name for name in files(target) if "/." in f"/{name}"]
    put(objects, key, before.data)
    again = cms("snapshot", "pull", bucket, "--store", target, "--activate", "--json")
    assert again.status == 0, again.err
    [site] = again.json
    assert site["versions"] == 1
    assert site["sent"] + site["copied"] < sum(file.bytes for file in place.manifest(damaged).files)
    assert place.versions() == versions
    assert place.verify(damaged) == []
    assert site["current"] == versions[0]


def put(objects: Objects, key: str, data: bytes | None) -> None:
    if data is None:
        objects.delete([key])
    else:
        objects.replace(key, data, ANY)


def test_a_pull_that_is_killed_leaves_no_version_and_is_resumed(
    cms: Cms, server: ObjectStore, bucket: str, tmp_path: Path
) -> None:
    newest, oldest = open_store(bucket).workspace("site").versions()
    target = tmp_path / "pulled"
    with tcp_proxy(server.port) as proxy:
        through = bucket.replace(f":{server.port}/", f":{proxy.port}/")
        proxy.bytes_a_second = 20_000
        pull = subprocess.Popen([*CMS, "snapshot", "pull", through, "--store", str(target)], stderr=subprocess.PIPE)
        while not any(name.endswith(".parquet") for name in files(target)):
            assert pull.poll() is None, "it ended before it could be killed"
            time.sleep(0.01)
        pull.send_signal(signal.SIGKILL)
        pull.communicate()
    assert pull.returncode == -signal.SIGKILL
    assert newest not in pulled(target).versions()
    had = {name for name in files(target) if name.endswith(".parquet")}
    again = cms("snapshot", "pull", bucket, "--store", target, "--json")
    assert again.status == 0, again.err
    place = pulled(target)
    assert place.versions() == [newest, oldest]
    assert [place.verify(version) for version in place.versions()] == [[], []]
    assert again.json[0]["files"] <= len([name for name in files(target) if name.endswith(".parquet")]) - len(had)


def test_an_analyst_reads_nothing_else_to_pull_than_the_guide_permits(
    cms: Cms, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blog = Path("apis/blog.yaml")
    blog.write_text(blog.read_text(encoding="utf-8") + "  - {id: text, name: Text, type: richtext}\n", encoding="utf-8")
    Path("content/blog/one.md").write_text(entry("One") + "See [the file](paper.pdf).\n", encoding="utf-8")
    Path("content/blog/paper.pdf").write_bytes(b"%PDF-1.4\n% a file that content names\n")
    assert cms("snapshot", "build", "--store", bucket).status == 0
    (row,) = (line for line in page("several-machines.md").splitlines() if line.startswith("| analyst |"))
    permitted = re.findall(r"`([^`]+)`", row.split("|")[2].partition("never")[0])
    asking, refused = BucketObjects._asking, []

    def asked(self: BucketObjects, verb: str, key: str) -> AbstractContextManager[None]:
        names = [key, f"{key}/"] if verb == "list" else [key]
        if key not in {"", "site"} and not any(fnmatch(name, one) for name in names for one in permitted):
            refused.append(key)
            raise StoreError(f"{key} is forbidden.")
        return asking(self, verb, key)

    monkeypatch.setattr(BucketObjects, "_asking", asked)
    ran = cms("snapshot", "pull", bucket, "--store", tmp_path / "pulled")
    assert (ran.status, refused) == (0, []), ran.err
    place = pulled(tmp_path / "pulled")
    assert [place.verify(version) for version in place.versions()] == [[]] * 3
    assert [path.read_bytes()[:4] for path in place.assets.iterdir()] == [b"%PDF"]

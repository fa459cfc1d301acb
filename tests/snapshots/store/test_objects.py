"""What a store needs of a directory or a bucket, held against each kind there is: one contract, no exceptions."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import pytest

from snapshots.store.durable import StoreError
from snapshots.store.leases import Lease
from snapshots.store.locations import open_objects
from snapshots.store.objects import (
    ABSENT,
    ANY,
    UNCHANGED,
    Conflict,
    DamagedObject,
    Edited,
    Expected,
    MissingObject,
    ObjectContent,
    Objects,
    StoreUnreachable,
)
from tests.stores.object_stores import KINDS, ObjectStore, object_store

LARGE = 9 << 20
"""Bytes that take several requests."""


@pytest.fixture(
    scope="module",
    params=["directory", KINDS[0], *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS[1:])],
)
def server(request: pytest.FixtureRequest) -> Iterator[ObjectStore | None]:
    if request.param == "directory":
        yield None
        return
    pytest.importorskip("obstore", reason="obstore is not installed: pip install 'parquetry[objects]'")
    with object_store(request.param) as running, pytest.MonkeyPatch.context() as patch:
        for name, value in running.environment.items():
            patch.setenv(name, value)
        yield running


@pytest.fixture
def location(server: ObjectStore | None, tmp_path: Path) -> str:
    return str(tmp_path / "store") if server is None else server.place()


@pytest.fixture
def objects(location: str) -> Objects:
    return open_objects(location)


def test_a_document_is_replaced_under_its_condition_only(objects: Objects) -> None:
    assert objects.read("acme/current") is None
    with pytest.raises(Conflict):
        objects.replace("acme/current", b"one", "no tag of anything")
    first = objects.replace("acme/current", b"one", ABSENT)
    found = objects.read("acme/current")
    assert found is not None
    assert (found.data, found.tag) == (b"one", first)
    with pytest.raises(Conflict):
        objects.replace("acme/current", b"two", ABSENT)
    second = objects.replace("acme/current", b"two", first)
    assert second != first
    with pytest.raises(Conflict):
        objects.replace("acme/current", b"three", first)
    assert objects.replace("acme/current", b"three", ANY) not in {first, second}
    found = objects.read("acme/current")
    assert found is not None
    assert found.data == b"three"


def test_the_same_document_again_is_no_conflict(objects: Objects) -> None:
    tag = objects.replace("acme/current", b"one", ABSENT)
    assert objects.replace("acme/current", b"one", ABSENT) == tag
    assert objects.replace("acme/current", b"one", "an older tag") == tag


def test_a_poll_transfers_what_has_changed(objects: Objects) -> None:
    assert objects.read_if_changed("acme/current", "any") is None
    tag = objects.replace("acme/current", b"one", ABSENT)
    assert objects.read_if_changed("acme/current", tag) is UNCHANGED
    later = objects.replace("acme/current", b"two", tag)
    found = objects.read_if_changed("acme/current", tag)
    assert found is not UNCHANGED
    assert found is not None
    assert (found.data, found.tag) == (b"two", later)


def test_edits_at_once_all_happen_once(location: str) -> None:
    threads, each = 4, 10

    def work(number: int) -> None:
        mine = open_objects(location)  # as another process would
        for turn in range(each):
            line = f"{number}-{turn} "
            mine.edit("acme/list", lambda data, write, line=line: ((data or b"") + f"{line}{write}\n".encode(), None))

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    found = open_objects(location).read("acme/list")
    assert found is not None
    lines = [line.split()[0] for line in found.data.splitlines()]
    assert sorted(lines) == sorted(f"{number}-{turn}".encode() for number in range(threads) for turn in range(each))


def test_an_edit_returns_the_document_as_it_is_then(objects: Objects) -> None:
    edited = objects.edit("acme/list", lambda _data, write: (write.encode(), "beside"))
    assert edited.result == "beside"
    assert edited.content is not None
    assert objects.read("acme/list") == edited.content


def test_an_edit_may_leave_everything_as_it_is(objects: Objects) -> None:
    assert objects.edit("acme/list", lambda _data, _write: (None, 1)) == Edited(1, None)
    assert objects.read("acme/list") is None
    tag = objects.replace("acme/list", b"one", ABSENT)
    assert objects.edit("acme/list", lambda _data, _write: (None, 2)) == Edited(2, ObjectContent(b"one", tag))
    with pytest.raises(ZeroDivisionError):
        objects.edit("acme/list", lambda _data, _write: (b"%d" % (1 // 0), None))


def test_a_document_has_a_write_id_where_answers_may_be_lost(objects: Objects) -> None:
    with pytest.raises(ValueError, match="write id") if objects.loses_answers else nullcontext():
        objects.edit("acme/list", lambda _data, _write: (b"nothing of one's own", None))
    assert (objects.read("acme/list") is None) == objects.loses_answers


@pytest.mark.undisturbed
@pytest.mark.parametrize("is_stored", [False, True], ids=["beaten", "answer lost"])
@pytest.mark.parametrize("are_quicker", [0, 1, 3])
def test_an_edit_returns_what_was_said_of_the_try_that_is_stored(
    objects: Objects, monkeypatch: pytest.MonkeyPatch, is_stored: bool, are_quicker: int
) -> None:
    """The first try is stored, or is not, and nobody is told which; then others add to the list."""
    replace, tries = objects.replace, []

    def unanswered(key: str, data: bytes, expected: str | Expected, *, private: bool = False) -> str:
        if not tries[1:]:
            tag = replace(key, data, expected) if is_stored else expected
            for number in range(are_quicker):
                found = objects.read(key)
                others = (b"" if found is None else found.data) + b"other %d\n" % number
                tag = replace(key, others, ABSENT if found is None else found.tag)
            raise StoreUnreachable(f"no answer about {tag!r}")
        return replace(key, data, expected, private=private)

    def change(data: bytes | None, write: str) -> tuple[bytes, str]:
        tries.append(write)
        return (data or b"") + f"try {len(tries)} {write}\n".encode(), f"try {len(tries)} {write}"

    monkeypatch.setattr(objects, "replace", unanswered)
    edited = objects.edit("acme/list", change)
    found = objects.read("acme/list")
    assert found is not None
    assert [line for line in found.data.decode().splitlines() if line.startswith("try")] == [edited.result]
    assert edited.content == found
    assert len(set(tries)) == (1 if is_stored else 2)


def test_an_object_is_created_once(objects: Objects, tmp_path: Path) -> None:
    objects.create("acme/a", b"content")
    objects.create("acme/a", b"content")
    with pytest.raises(Conflict):
        objects.create("acme/a", b"other")
    path = tmp_path / "file"
    path.write_bytes(b"content")
    objects.create("acme/a", path)
    objects.create("acme/b", path)
    other = tmp_path / "other"
    other.write_bytes(b"another")
    with pytest.raises(Conflict):
        objects.create("acme/a", other)
    found = objects.read("acme/b")
    assert found is not None
    assert found.data == b"content"
    objects.create("acme/empty", b"")
    found = objects.read("acme/empty")
    assert found is not None
    assert found.data == b""


def test_large_files_arrive_whole_or_not_at_all(objects: Objects, tmp_path: Path) -> None:
    data = os.urandom(LARGE)
    sha256 = hashlib.sha256(data).hexdigest()
    source, copy = tmp_path / "source", tmp_path / "new" / "folder" / "copy"
    source.write_bytes(data)
    objects.create("acme/v/blog.parquet", source)
    objects.create("acme/v/blog.parquet", source)
    objects.copy("acme/v/blog.parquet", "acme/w/blog.parquet")
    objects.fetch("acme/w/blog.parquet", copy, LARGE, sha256)
    assert copy.read_bytes() == data
    other = tmp_path / "other"
    other.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(Conflict):
        objects.create("acme/v/blog.parquet", other)
    objects.delete(["acme/w/blog.parquet"])
    objects.create("acme/w/blog.parquet", other)
    before = copy.stat()
    with pytest.raises(DamagedObject, match=sha256):
        objects.fetch("acme/w/blog.parquet", copy, LARGE, sha256)
    for wrong in (LARGE + (30 << 20), LARGE + 1, 5):
        with pytest.raises(DamagedObject):
            objects.fetch("acme/v/blog.parquet", copy, wrong, sha256)
    with pytest.raises(MissingObject):
        objects.fetch("acme/x", copy, LARGE, sha256)
    with pytest.raises(MissingObject):
        objects.fetch("acme/x", copy, 0, hashlib.sha256().hexdigest())
    assert copy.read_bytes() == data
    assert copy.stat().st_ino == before.st_ino
    assert [path.name for path in copy.parent.iterdir()] == ["copy"]


def test_an_empty_object_is_fetched(objects: Objects, tmp_path: Path) -> None:
    objects.create("acme/empty", b"")
    objects.fetch("acme/empty", tmp_path / "empty", 0, hashlib.sha256().hexdigest())
    assert (tmp_path / "empty").read_bytes() == b""


def test_a_copy_of_nothing_is_told(objects: Objects) -> None:
    with pytest.raises(MissingObject):
        objects.copy("acme/nothing", "acme/copy")
    assert objects.names("") == []


def test_names_are_listed_by_folder(objects: Objects) -> None:
    keys = ["acme/a b/ü#%?+&.txt", "acme/current", "acme/v/1", "acme/v/2", "acme/vv/3", "beta/current"]
    for key in keys:
        objects.create(key, key.encode())
    assert [one.key for one in objects.names("")] == sorted(keys)
    listed = objects.names("acme/v/")
    assert [(one.key, one.bytes) for one in listed] == [("acme/v/1", 8), ("acme/v/2", 8)]
    assert all(one.modified_at > 1_600_000_000_000 for one in listed)
    assert objects.names("acme/no") == []
    assert set(objects.folders("")) - {"_probe"} == {"acme", "beta"}
    assert objects.folders("acme") == ["a b", "v", "vv"]
    assert objects.folders("nothing") == []
    found = objects.read(keys[0])
    assert found is not None
    assert found.data == keys[0].encode()


def test_what_is_deleted_is_gone(objects: Objects) -> None:
    for key in ("acme/v/1", "acme/v/2", "acme/w"):
        objects.create(key, b"x")
    objects.delete(["acme/v/1", "acme/no", "acme/v/2"])
    objects.delete([])
    assert [one.key for one in objects.names("")] == ["acme/w"]
    objects.create("acme/v/1", b"another")
    found = objects.read("acme/v/1")
    assert found is not None
    assert found.data == b"another"


def test_a_lease_has_one_holder_at_a_time(objects: Objects) -> None:
    one, two = (Lease(objects, "acme/lease", name, 1000) for name in ("one", "two"))
    assert one.take(10_000)
    assert not two.take(10_999)
    assert one.take(10_999)
    assert not two.take(11_998)
    assert two.take(11_999)
    assert not one.take(11_999)
    two.give_back(12_000)
    assert one.take(12_000)
    objects.delete(["acme/lease"])
    assert one.take(12_500)
    assert not two.take(12_500)


def test_of_many_who_take_a_lease_at_once_one_gets_it(location: str) -> None:
    start = threading.Barrier(4)

    def take(number: int) -> bool:
        mine = Lease(open_objects(location), "acme/lease", f"holder-{number}", 60_000)
        start.wait()
        return mine.take(1)

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(take, range(4))) == 1


def test_keys_lead_nowhere_else(objects: Objects) -> None:
    for key in ("", "/a", "a/", "a//b", "../a", "a/./b", ".a", "a/.b", "a\\b", "a\0", "ü" * 500):
        with pytest.raises(StoreError, match="not the key"):
            objects.read(key)
        with pytest.raises(StoreError, match="not the key"):
            objects.create(key, b"")

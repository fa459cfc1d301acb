"""Files that change whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from snapshots.store import directory_objects, durable
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.durable import (
    StoreError,
    allocate,
    link_or_copy,
    locked,
    make_directory,
    reading,
    remove_leftovers,
    replace_durably,
    replace_file,
    write_durably,
    writing,
)
from snapshots.store.store import open_store
from tests.stores.small_disk import small_disk
from tests.stores.store_content import activate, publish, version_at

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("replace", [replace_durably, replace_file])
def test_replacing_makes_a_new_file_whole(tmp_path: Path, replace: Callable[[Path, bytes], None]) -> None:
    path = tmp_path / "current"
    data = os.urandom(3 << 20)
    replace(path, b"old")
    with path.open("rb") as opened:
        replace(path, data)
        assert opened.read() == b"old"
    assert path.read_bytes() == data
    assert list(tmp_path.iterdir()) == [path]


def test_a_secret_has_its_mode_before_it_has_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    real = durable.sync_file

    def look(descriptor: int) -> None:
        seen.append(os.fstat(descriptor).st_mode & 0o777)
        real(descriptor)

    monkeypatch.setattr(durable, "sync_file", look)
    path = tmp_path / "access.json"
    path.write_bytes(b"")
    path.chmod(0o644)
    replace_durably(path, b"secret", mode=0o600)
    assert seen[0] == 0o600
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_failed_replacement_keeps_the_old_file_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "current").mkdir()
    with pytest.raises(OSError, match="directory"):
        replace_durably(tmp_path / "current", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["current"]
    with pytest.raises(FileExistsError):
        write_durably(tmp_path / "current", b"new")
    assert (tmp_path / "current").is_dir()


def test_leftovers_of_killed_replacements_go_and_nothing_else(tmp_path: Path) -> None:
    for name in (".current.0123.tmp", "current", ".currently.0123.tmp", ".current", "current.tmp"):
        (tmp_path / name).write_bytes(b"x")
    remove_leftovers(tmp_path / "current")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".current",
        ".currently.0123.tmp",
        "current",
        "current.tmp",
    ]


def test_a_link_shares_the_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    link_or_copy(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "a").samefile(tmp_path / "b")
    with pytest.raises(FileExistsError):
        link_or_copy(tmp_path / "a", tmp_path / "b")
    with pytest.raises(FileNotFoundError):
        link_or_copy(tmp_path / "none", tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_what_cannot_be_linked_is_copied(tmp_path: Path) -> None:
    places = [Path("/dev/shm"), Path(tempfile.gettempdir())]
    others = [place for place in places if place.is_dir() and place.stat().st_dev != tmp_path.stat().st_dev]
    if not others:
        pytest.skip("needs a second file system, such as /dev/shm")
    data = os.urandom(3 << 20)
    (tmp_path / "a").write_bytes(data)
    with tempfile.TemporaryDirectory(dir=others[0]) as directory:
        copy = Path(directory, "b")
        link_or_copy(tmp_path / "a", copy)
        assert copy.read_bytes() == data
        with pytest.raises(OSError):  # noqa: PT011 - a link says EXDEV first or EEXIST, as the system likes
            link_or_copy(tmp_path / "a", copy)
        assert copy.read_bytes() == data


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "cannot write /here: the disk is full. Free some space"),
        (OSError(errno.EDQUOT, "Quota exceeded", "/there"), "cannot write /there: the disk quota is used up."),
        (OSError(errno.EACCES, "Permission denied", b"/there"), "cannot write /there: permission denied. Run as"),
        (OSError(errno.EXDEV, "Cross-device link", "/a", None, "/b"), "cannot write /b: Cross-device link"),
        (OSError("something else"), "cannot write /here: something else"),
    ],
)
def test_an_error_of_the_disk_says_where_why_and_what_to_do(error: OSError, message: str) -> None:
    with pytest.raises(StoreError) as caught, writing(Path("/here")):
        raise error
    assert str(caught.value).startswith(message)
    assert caught.value.__cause__ is error
    with pytest.raises(StoreError, match="cannot read"), reading(Path("/here")):
        raise error


def test_missing_directories_are_made_and_present_ones_are_left(tmp_path: Path) -> None:
    make_directory(tmp_path / "a/b/c")
    (tmp_path / "a/b/c/file").write_text("")
    make_directory(tmp_path / "a/b/c")
    assert (tmp_path / "a/b/c/file").exists()
    with pytest.raises(OSError, match="exists"):
        make_directory(tmp_path / "a/b/c/file")


def test_a_lock_is_held_by_one_and_said_to_be_stuck(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path):
        failures: list[str] = []

        def wait() -> None:
            try:
                with locked(path, seconds=0.1):
                    failures.append("taken twice")
            except StoreError as error:
                failures.append(str(error))

        thread = threading.Thread(target=wait)
        thread.start()
        thread.join()
        assert failures[0].startswith(f"{path}: another process has been holding this lock for 0.1 s.")
    with locked(path, seconds=0.1):
        pass


def test_a_lock_is_free_once_its_holder_is_killed(tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom snapshots.store.durable import locked\n"
        "with locked(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "lock")]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        with pytest.raises(StoreError), locked(tmp_path / "lock", seconds=0.1):
            pass
        child.kill()
        child.wait()
        with locked(tmp_path / "lock", seconds=5):
            pass


def test_where_the_full_sync_is_unknown_the_plain_one_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    real = os.fsync

    def sync(descriptor: int) -> None:
        synced.append(descriptor)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", sync)
    with (tmp_path / "file").open("wb") as file:
        monkeypatch.setattr(durable, "_FULL_SYNC", 0x7FFF)  # a command no system has
        durable.sync_file(file.fileno())
        assert synced == [file.fileno()]
        monkeypatch.setattr(durable, "_FULL_SYNC", fcntl.F_GETFD)  # one that every system has
        durable.sync_file(file.fileno())
        assert synced == [file.fileno()]


def test_everything_reaches_the_disk_before_a_rename_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[tuple[str, str]] = []
    names: dict[int, str] = {}
    real_sync, real_rename, real_replace = os.fsync, Path.rename, Path.replace

    def sync(descriptor: int) -> None:
        found = os.fstat(descriptor)
        steps.append(("sync", str(found.st_ino)))
        real_sync(descriptor)

    def rename(self: Path, new: Path) -> Path:
        for path in (self, *self.rglob("*")):
            names[path.stat().st_ino] = path.relative_to(self).as_posix()
        steps.append(("rename", new.name))
        return real_rename(self, new)

    def replace(self: Path, new: Path) -> Path:
        names[self.stat().st_ino] = new.name
        steps.append(("rename", new.name))
        return real_replace(self, new)

    target = open_store(tmp_path / "store").workspace("acme")
    publish(target, 1)
    monkeypatch.setattr(durable, "_FULL_SYNC", None)
    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Path, "rename", rename)
    monkeypatch.setattr(Path, "replace", replace)
    publish(target, 2)
    activate(target, 2)
    names[target.snapshots.stat().st_ino] = "snapshots"
    names[target.directory.stat().st_ino] = "acme"
    seen = [names.get(int(what), "?") if step == "sync" else f"-> {what}" for step, what in steps]
    published = seen.index(f"-> {version_at(2)}")
    activated = seen.index("-> current")
    assert {"ja/blog/all.parquet", "ja", ".", "manifest.json"} <= set(seen[:published])
    assert seen.index("ja/blog/all.parquet") < seen.index("manifest.json")
    assert "snapshots" in seen[published + 1 : activated]
    assert "current" in seen[published + 1 : activated]
    assert "acme" in seen[activated + 1 :]


def test_what_is_deleted_is_not_back_after_a_power_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects, synced = DirectoryObjects(tmp_path), dict[str, list[str]]()
    for key in ("acme/v/manifest", "acme/v/en/news", "acme/w/manifest"):
        objects.create(key, b"x")

    def sync(path: Path) -> None:
        synced[path.relative_to(tmp_path).as_posix()] = sorted(one.name for one in path.iterdir())

    monkeypatch.setattr(directory_objects, "sync_directory", sync)
    objects.delete(["acme/v/manifest"])
    assert synced == {"acme/v": ["en"]}
    synced.clear()
    objects.delete(["acme/v/en/news"])
    assert synced == {"acme": ["w"]}


@pytest.mark.parametrize("refusal", [None, errno.EOPNOTSUPP, errno.EINVAL])
def test_allocated_bytes_have_a_place_and_keep_what_they_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: int | None
) -> None:
    def refused(*_: object) -> None:
        raise OSError(refusal, "refused")

    if refusal is not None:
        monkeypatch.setattr(os, "posix_fallocate", refused)
    place = tmp_path / "file"
    with place.open("w+b") as file:
        file.write(b"begin")
        file.seek(3 << 20)
        file.write(b"end")
        file.flush()
        held = place.read_bytes()
        allocate(file.fileno(), 0, 5 << 20)
        assert place.read_bytes() == held.ljust(5 << 20, b"\0")
        assert place.stat().st_blocks * 512 >= 5 << 20
        allocate(file.fileno(), 1 << 20, 2 << 20)
        allocate(file.fileno(), 7, 7)
    assert place.stat().st_size == 5 << 20


def test_a_disk_without_room_to_allocate_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for fallback in (False, True):
        if fallback:
            monkeypatch.delattr(os, "posix_fallocate")
        with (
            small_disk(tmp_path / f"disk-{fallback}", 1 << 20) as disk,
            (disk / "file").open("w+b") as file,
            pytest.raises(OSError, match="No space left"),
        ):
            allocate(file.fileno(), 0, 2 << 20)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_directories_that_threads_make_in_one_another_all_follow_the_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, nobody = tmp_path / "store", 65534
    store.mkdir()
    os.chown(store, nobody, nobody)
    made, follow = threading.Event(), durable.follow_directory

    def follow_late(path: int | Path, directory: Path) -> None:
        if path == store / "outer":
            made.set()
            time.sleep(0.05)  # in which another thread could make something in it
        follow(path, directory)

    monkeypatch.setattr(durable, "follow_directory", follow_late)
    with ThreadPoolExecutor(2) as threads:
        outer = threads.submit(make_directory, store / "outer")
        assert made.wait(60)
        inner = threads.submit(make_directory, store / "outer" / "inner")
        outer.result()
        inner.result()
    assert {path.stat().st_uid for path in store.rglob("*")} == {nobody}

"""Disks that are full, read-only or short of rights: a clear StoreError, and nothing lost."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from snapshots.columns import FileKind
from snapshots.store.current import Current, Term
from snapshots.store.durable import StoreError, replace_durably
from snapshots.store.store import WorkspaceStore, open_store
from tests.stores.small_disk import fill, small_disk
from tests.stores.store_content import BLOG, Row, activate, bare, manifest_of, publish, version_at, write_rows

SMALL = 256 << 10
NOBODY = 65534
ROOT = Path(__file__).parents[3]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with room for 256 KiB."""
    with small_disk(tmp_path / "disk", SMALL) as mounted:
        yield mounted


@pytest.fixture
def full_disk(disk: Path) -> WorkspaceStore:
    """A store with two versions, the second current, on a disk without a free byte."""
    target = open_store(disk / "store").workspace("acme")
    for number in (1, 2):
        publish(target, number)
        activate(target, number)
    publish(target, 3)
    fill(disk)
    return target


def stage_bytes(target: WorkspaceStore) -> None:
    with target.stage(version_at(9)) as staging:
        (staging.directory / "data").write_bytes(b"x" * SMALL)


def stage_parquet(target: WorkspaceStore) -> None:
    with target.stage(version_at(9)) as staging:
        write_rows(
            staging.directory, BLOG, "ja", FileKind.PUBLISHED, [Row(os.urandom(32).hex()) for _ in range(SMALL // 32)]
        )


def publish_empty(target: WorkspaceStore) -> None:
    with target.stage(version_at(9)) as staging:
        target.publish(staging, manifest_of(version_at(9), []))


def activate_third(target: WorkspaceStore) -> None:
    target.activate(version_at(3), expected=version_at(2), by="me", now=9)


def roll_back(target: WorkspaceStore) -> None:
    target.rollback(by="me", now=9)


CHANGES: tuple[Callable[[WorkspaceStore], None], ...] = (
    stage_bytes,
    stage_parquet,
    publish_empty,
    activate_third,
    roll_back,
)


def check_nothing_lost(target: WorkspaceStore) -> None:
    assert target.versions() == [version_at(3), version_at(2), version_at(1)]
    assert [target.verify(version) for version in target.versions()] == [[], [], []]
    assert bare(target.current()) == Current(
        version_at(2), (version_at(1),), 2, "tester@here", (version_at(1),), (Term(version_at(1), 1, 2),)
    )
    assert [path.name for path in target.directory.rglob(".*")] == [".lock"]


@pytest.mark.parametrize("change", CHANGES)
def test_a_full_disk_is_named_and_nothing_is_lost(
    full_disk: WorkspaceStore, change: Callable[[WorkspaceStore], None]
) -> None:
    with pytest.raises(StoreError, match=r"cannot write .*: the disk is full\. Free some space"):
        change(full_disk)
    check_nothing_lost(full_disk)


def test_prune_makes_room_on_a_full_disk(full_disk: WorkspaceStore) -> None:
    fourth = version_at(3)
    assert full_disk.prune(1) == ([], 0)
    (full_disk.directory.parent.parent / "filler").unlink()
    full_disk.activate(fourth, expected=version_at(2), by="me", now=9)
    fill(full_disk.directory.parent.parent)
    assert full_disk.prune(1)[0] == [version_at(1)]
    full_disk.rollback(by="me", now=10)
    current = full_disk.current()
    assert current is not None
    assert current.version == version_at(2)


@pytest.mark.parametrize("change", CHANGES)
def test_a_read_only_disk_is_named_and_can_be_read(disk: Path, change: Callable[[WorkspaceStore], object]) -> None:
    store = open_store(disk / "store")
    target = store.workspace("acme")
    for number in (1, 2, 3):
        publish(target, number)
        if number < 3:
            activate(target, number)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with pytest.raises(StoreError, match="the file system is read-only"):
        change(target)
    check_nothing_lost(target)
    assert store.workspaces() == ["acme"]
    assert target.manifest(version_at(2)).entries == 1
    with pytest.raises(StoreError, match="the file system is read-only"):
        publish(store.workspace("beta"), 1)


def test_versions_on_a_read_only_disk_cannot_be_dropped(disk: Path) -> None:
    target = open_store(disk / "store").workspace("acme")
    for number in (1, 2, 3):
        publish(target, number)
        activate(target, number)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    assert target.prune(3) == ([], 0)
    with pytest.raises(StoreError, match="the file system is read-only"):
        target.prune(1)
    assert target.versions() == [version_at(3), version_at(2), version_at(1)]


@pytest.fixture
def somebody_elses() -> Iterator[WorkspaceStore]:
    """A store with two activated versions and a third, in which this process may read but not write."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        target = open_store(directory).workspace("acme")
        for number in (1, 2, 3):
            publish(target, number)
            if number < 3:
                activate(target, number)
        root = os.geteuid() == 0
        if root:
            os.seteuid(NOBODY)
        else:
            target.snapshots.chmod(0o555)
            target.directory.chmod(0o555)
            (target.directory / ".lock").chmod(0o444)
        try:
            yield target
        finally:
            if root:
                os.seteuid(0)
            else:
                target.directory.chmod(0o755)
                target.snapshots.chmod(0o755)


@pytest.mark.parametrize("change", CHANGES)
def test_a_directory_without_write_permission_is_named(
    somebody_elses: WorkspaceStore, change: Callable[[WorkspaceStore], object]
) -> None:
    with pytest.raises(StoreError, match="permission denied"):
        change(somebody_elses)
    check_nothing_lost(somebody_elses)


LIMITED = """
import json, resource, sys
from snapshots.store.durable import StoreError
from snapshots.store.store import open_store
from tests.snapshots.store.test_disk import CHANGES
resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
said = {}
for change in CHANGES:
    try:
        change(open_store(f"{sys.argv[1]}/{change.__name__}").workspace("acme"))
    except StoreError as error:
        said[change.__name__] = str(error)
print(json.dumps(said))
"""


def test_a_limit_on_file_sizes_is_named_and_nothing_is_lost(tmp_path: Path) -> None:
    targets = {change.__name__: open_store(tmp_path / change.__name__).workspace("acme") for change in CHANGES}
    for target in targets.values():
        for number in (1, 2, 3):
            publish(target, number)
            if number < 3:
                activate(target, number)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, str] = json.loads(done.stdout)
    assert said.keys() == targets.keys()
    for change, target in targets.items():
        assert re.search("cannot write .*the file would be larger than this system allows", said[change]), change
        check_nothing_lost(target)


def test_a_store_inside_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    target = open_store(tmp_path / "file" / "store").workspace("acme")
    with pytest.raises(StoreError, match=str(tmp_path / "file")):
        publish(target, 1)


def test_a_current_that_cannot_be_read_is_not_taken_for_none(tmp_path: Path) -> None:
    target = open_store(tmp_path).workspace("acme")
    (target.directory / "current").mkdir(parents=True)
    with pytest.raises(StoreError, match="cannot read"):
        target.current()


def test_replacing_a_file_on_a_full_disk_keeps_the_old_one(disk: Path) -> None:
    path = disk / "access.json"
    replace_durably(path, b"old", mode=0o600)
    fill(disk)
    with pytest.raises(OSError, match="No space left"):
        replace_durably(path, b"new" * 2000, mode=0o600)
    assert path.read_bytes() == b"old"
    assert sorted(entry.name for entry in disk.iterdir()) == ["access.json", "filler"]


def test_parquet_on_a_full_disk_fails_with_the_system_s_error_number(disk: Path) -> None:
    fill(disk)
    with pytest.raises(OSError, match="No space left") as caught:
        write_rows(disk, BLOG, "ja", FileKind.PUBLISHED, [Row("x")])
    assert caught.value.errno == errno.ENOSPC

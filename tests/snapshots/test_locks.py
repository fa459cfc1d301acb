"""A lock between processes: one holder at a time, and everybody may ask whether it has one."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest

from snapshots.locks import FileLock


def test_one_has_it_and_others_see_so(tmp_path: Path) -> None:
    one, other, asking = (FileLock(tmp_path / "lock") for _ in range(3))
    assert asking.is_free()
    assert not (tmp_path / "lock").exists(), "asking makes nothing"
    assert one.take()
    assert one.take(), "it has it already"
    assert not other.take(0.05)
    assert not asking.is_free()
    one.leave()
    assert asking.is_free()
    assert other.take()
    assert (one.is_held, other.is_held, asking.is_held) == (False, True, False)
    other.leave()


def test_a_file_that_was_deleted_locks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flock, path = fcntl.flock, tmp_path / "lock"

    def overtaken(descriptor: int, how: int) -> None:
        flock(descriptor, how)
        if not path.with_name("deleted").exists():
            path.rename(path.with_name("deleted"))
            path.with_name("deleted").unlink()
            path.with_name("deleted").touch()

    monkeypatch.setattr(fcntl, "flock", overtaken)
    lock = FileLock(path)
    assert lock.take(5)
    assert path.exists()
    assert not FileLock(path).is_free()
    lock.leave()


def test_a_holder_is_told_that_its_file_was_deleted(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    one, other = FileLock(path), FileLock(path)
    assert not one.is_lost(), "it has none"
    assert one.take()
    assert not one.is_lost()
    path.unlink()
    assert one.is_lost()
    assert other.take()
    assert not other.is_lost()
    one.leave()
    other.leave()


def test_a_lock_that_cannot_be_had_holds_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_descriptor: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    before = len(list(Path("/proc/self/fd").iterdir()))
    monkeypatch.setattr(fcntl, "flock", refused)
    for _ in range(3):
        with pytest.raises(OSError, match=os.strerror(errno.ENOLCK)):
            FileLock(tmp_path / "lock").take()
    assert len(list(Path("/proc/self/fd").iterdir())) == before

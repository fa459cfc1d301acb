"""Versions that are damaged, files that are gone or cannot be read: what commands say of them, and what they mend."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from snapshots.ownership import is_foreign
from snapshots.store.store import WorkspaceStore, open_store
from tests.programs.command_line import Cms, in_process, write_workspace


@pytest.fixture
def cms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.setenv("CMS_STORE", str(tmp_path / "store"))
    monkeypatch.chdir(write_workspace(tmp_path))
    return in_process(monkeypatch, capsys)


def place_in(tmp_path: Path) -> WorkspaceStore:
    return open_store(tmp_path / "store").workspace("site")


def current(tmp_path: Path) -> str:
    found = place_in(tmp_path).current()
    assert found is not None
    return found.version


def damaged(place: WorkspaceStore, version: str, how: str) -> str:
    """Damage one data file of a version: its path in the version."""
    path = next(iter(sorted((place.snapshots / version).rglob("*.parquet"))))
    data = path.read_bytes()
    path.unlink()  # it may be the same file in other versions
    if how == "cut off":
        path.write_bytes(data[:-1])
    elif how == "altered":
        path.write_bytes(data[:50] + bytes([data[50] ^ 1]) + data[51:])
    return path.relative_to(place.snapshots / version).as_posix()


@pytest.mark.parametrize("how", ["gone", "cut off", "altered"])
def test_a_damaged_version_is_not_made_current_and_a_build_makes_it_again(cms: Cms, tmp_path: Path, how: str) -> None:
    assert cms("snapshot", "build").status == 0
    first, place = current(tmp_path), place_in(tmp_path)
    assert "Nothing changed" in cms("snapshot", "build").out
    file = damaged(place, first, how)
    for arguments in (("activate", first), ("verify",)):
        ran = cms("snapshot", *arguments)
        assert ran.status == 1, arguments
        assert file in ran.err + ran.out, arguments
    built = cms("snapshot", "build")
    assert "now current" in built.out, built
    second = current(tmp_path)
    assert second != first
    assert cms("snapshot", "verify").status == 0
    assert "Nothing changed" in cms("snapshot", "build").out
    refused = cms("snapshot", "rollback")
    assert (refused.status, current(tmp_path)) == (1, second)
    assert file in refused.err


def test_a_version_of_before_is_opened_before_it_is_current_again(cms: Cms, tmp_path: Path) -> None:
    cms("snapshot", "build")
    first, place = current(tmp_path), place_in(tmp_path)
    (tmp_path / "content/blog/another.md").write_text("---\ntitle: Another\ncreatedAt: 2026-01-01\n---\nText\n")
    assert "now current" in cms("snapshot", "build").out
    second = current(tmp_path)
    file = damaged(place, first, "altered")
    ran = cms("snapshot", "activate", first)
    assert (ran.status, current(tmp_path)) == (1, second)
    assert f"{first} of site is damaged: {file}: has the SHA-256" in ran.err


def test_without_current_the_list_says_how_there_is_one_again(cms: Cms, tmp_path: Path) -> None:
    cms("snapshot", "build")
    version, place = current(tmp_path), place_in(tmp_path)
    (place.directory / "current").unlink()
    assert "None is current, so nothing is served: `cms snapshot activate" in cms("snapshot", "list").err
    assert cms("snapshot", "activate", version).status == 0
    assert "None is current" not in cms("snapshot", "list").err


@pytest.mark.parametrize("command", ["list", "activate"])
def test_a_damaged_list_of_what_is_held_is_told(cms: Cms, tmp_path: Path, command: str) -> None:
    cms("snapshot", "build")
    held = place_in(tmp_path).directory / "held.json"
    arguments = [command, *([current(tmp_path)] if command == "activate" else [])]
    assert "held.json" not in cms("snapshot", *arguments).err
    held.write_text("{")
    ran = cms("snapshot", *arguments)
    assert ran.status == 0
    assert f"warning: {held} is damaged" in ran.err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_what_root_publishes_belongs_to_the_owner_of_the_store(cms: Cms, tmp_path: Path) -> None:
    store, nobody = tmp_path / "store", 65534
    store.mkdir()
    os.chown(store, nobody, nobody)
    (tmp_path / "picture.png").write_bytes(b"")
    assert cms("snapshot", "build").status == 0
    assert cms("key", "create", "app").status == 0
    assert cms("key", "create", "other").status == 0
    cms("snapshot", "build", "--again")
    assert cms("backup", tmp_path / "saved").status == 0
    restored = tmp_path / "restored"
    restored.mkdir()
    os.chown(restored, nobody, nobody)
    assert cms("restore", tmp_path / "saved", "--store", restored).status == 0
    for made in (store, restored):
        others = [path for path in made.rglob("*") if (path.stat().st_uid, path.stat().st_gid) != (nobody, nobody)]
        assert others == []
        assert (made / "site" / "access.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_files_that_the_owner_of_a_store_cannot_read_are_known(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir(mode=0o750)
    assert not is_foreign(made, tmp_path)
    os.chown(tmp_path, 65534, 65534)
    assert is_foreign(made, tmp_path)
    os.chown(made, 0, 65534)
    assert not is_foreign(made, tmp_path), "the group may read it"
    os.chown(made, 0, 0)
    made.chmod(0o755)
    assert not is_foreign(made, tmp_path), "everybody may read it"

"""``cms backup`` and ``cms restore``: what they print, how they end, and stores and places in buckets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.backup.layout import names
from snapshots.store.locations import open_objects
from tests.programs.command_line import Cms, in_process, process, write_workspace
from tests.stores.object_stores import object_store
from tests.stores.small_disk import fill, small_disk


@pytest.fixture
def site(cms_in_copy: Cms, tmp_path: Path) -> Path:
    """A built workspace with a key, which is the current directory."""
    assert cms_in_copy("key", "create", "website").status == 0
    return tmp_path


def test_a_store_is_saved_and_brought_back(cms_in_copy: Cms, site: Path) -> None:
    cms = cms_in_copy
    ran = cms("backup", "place")
    assert ran.status == 0
    assert ran.out.startswith("Backup 2")
    assert ": 1 workspace, 1 snapshot version, " in ran.out
    again = cms("backup", "place", "--json").json
    assert (again["sent"], again["complaints"]) == (0, [])
    listed = cms("restore", "place", "--list", "--json").json
    assert (len(listed), listed[0]["backup"]) == (2, again["backup"])
    assert cms("restore", "place", "--list").out.splitlines()[0].startswith(f"{again['backup']}  2")
    assert "is intact: 1 snapshot version, " in cms("restore", "place", "--check").out
    assert cms("restore", "place", "--check", "--json").json["restored"] is False
    before = cms("key", "list", "--json").json
    refused = cms("restore", "place")
    assert refused.status == 1
    assert "write --force" in refused.err
    restored = cms("restore", "place", "--store", "other", "--backup", listed[1]["backup"])
    assert restored.status == 0
    assert restored.out.splitlines()[0].endswith(" is current.")
    assert restored.out.splitlines()[1].startswith("Restored other from the backup ")
    assert cms("key", "list", "--store", "other", "--json").json == before
    cms("key", "create", "newer")
    told = cms("restore", "place", "--force", "--json").json
    assert told["backup"] == again["backup"]
    assert told["restored"] is True
    assert cms("key", "list", "--json").json == before
    assert (site / ".cms/.gitignore").read_text() == "*\n"
    assert cms("restore", "place", "--force", "--check").status == 2
    assert cms("restore", "nowhere", "--list").out == ""


def test_what_is_damaged_ends_a_backup_with_a_word(cms_in_copy: Cms, site: Path) -> None:
    data = next((site / ".cms/site/snapshots").rglob("*.parquet"))
    data.chmod(0o644)
    data.write_bytes(b"x" * data.stat().st_size)
    ran = cms_in_copy("backup", "place")
    assert ran.status == 1
    assert "was not saved: " in ran.err
    assert "1 part of the store could not be saved; everything else was." in ran.err
    restored = cms_in_copy("restore", "place", "--store", "other")
    assert (restored.status, "no snapshot version is current" in restored.out) == (0, True)
    assert len(cms_in_copy("key", "list", "-w", "site", "--store", "other", "--json").json) == 1


def test_nothing_to_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    ran = in_process(monkeypatch, capsys)("backup", "place", "--store", "empty")
    assert ran.status == 1
    assert "holds no workspace, so there is nothing to save" in ran.err
    assert not (tmp_path / "place").exists()


@pytest.mark.parametrize(
    "command", [("backup",), ("restore",), ("snapshot", "push"), ("snapshot", "pull")], ids=" ".join
)
@pytest.mark.parametrize("place", ["", " "])
def test_the_place_of_an_unset_variable_is_none(cms_in_copy: Cms, command: tuple[str, ...], place: str) -> None:
    ran = cms_in_copy(*command, place, "--store", "other")
    assert ran.status == 2
    assert "It is empty. Name a directory, or the URL of a bucket" in " ".join(ran.err.split())
    assert {path.name for path in Path.cwd().iterdir()}.isdisjoint({"backups", "other", " "})


@pytest.mark.slow
def test_a_full_disk_ends_a_backup_and_a_restore_with_a_word(cms_in_copy: Cms, site: Path, tmp_path: Path) -> None:
    cms = cms_in_copy
    (site / "content/blog/one.md").write_text("---\ntitle: Newer\ncreatedAt: 2026-01-01\n---\n")
    with small_disk(tmp_path / "disk", 4 << 20) as disk:
        assert cms("backup", disk / "place").status == 0
        before = names(open_objects(disk / "place"))
        cms("snapshot", "build")
        filler = fill(disk)
        ran = cms("backup", disk / "place")
        assert (ran.status, "the disk is full" in ran.err) == (1, True)
        assert names(open_objects(disk / "place")) == before
        assert cms("restore", disk / "place", "--check").status == 0
        ran = cms("restore", disk / "place", "--store", disk / "store")
        assert (ran.status, "the disk is full" in ran.err) == (1, True)
        filler.unlink()
        assert cms("backup", disk / "place").status == 0
        assert cms("restore", disk / "place", "--store", disk / "store", "--force").status == 0
        assert cms("snapshot", "verify", "--store", disk / "store").status == 0


@pytest.mark.slow
def test_stores_and_places_in_buckets(tmp_path: Path) -> None:
    site = write_workspace(tmp_path / "site")
    with object_store("any") as running:
        environment = {**os.environ, **running.environment, "XDG_CACHE_HOME": str(tmp_path / "cache")}
        store, place, target = running.place(), running.place(), running.place()

        def cms(*arguments: str | Path) -> str:
            ran = process(*arguments, cwd=site, env=environment)
            assert ran.status == 0, ran.err
            return ran.out

        cms("snapshot", "build", "--store", store)
        cms("key", "create", "web", "--store", store)
        listed = cms("key", "list", "--store", store)
        content = cms("query", "blog", "--store", store)
        cms("backup", place, "--store", store)
        cms("backup", tmp_path / "place", "--store", store)
        assert "of which 0 bytes were new" in cms("backup", place, "--store", store)
        for source, restored in ((place, target), (place, tmp_path / "here"), (tmp_path / "place", running.place())):
            cms("restore", source, "--store", restored)
            cms("snapshot", "verify", "--store", restored)
            assert cms("key", "list", "--store", restored) == listed
            assert cms("query", "blog", "--store", restored) == content
        cms("key", "create", "another", "--store", target)
        refused = process("restore", place, "--store", target, cwd=site, env=environment)
        assert (refused.status, "write --force" in refused.err) == (1, True)
        cms("restore", place, "--store", target, "--force")
        assert cms("key", "list", "--store", target) == listed

"""A build where git does not tell the dates that it told before: they are never published as others by accident."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from snapshots.build.build import BuildResult, build, check
from snapshots.problems import WorkspaceRefused
from snapshots.store.store import Store, WorkspaceStore, open_store
from snapshots.times import now_ms
from tests.programs.command_line import entry, write_workspace

FIRST, SECOND = 1_600_000_000, 1_700_000_000
DATED = "updatedAt: 2026-01-02\n"


def git(root: Path, *arguments: str, at: int = SECOND) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false")
    date = {"GIT_AUTHOR_DATE": f"@{at} +0000", "GIT_COMMITTER_DATE": f"@{at} +0000"}
    subprocess.run(["git", "-C", str(root), *who, *arguments], env={**os.environ, **date}, check=True)


def commit(root: Path, at: int) -> None:
    git(root, "add", ".")
    git(root, "commit", "-qm", "x", at=at)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout in which two entries have their dates from git, of commits of different instants."""
    root = write_workspace(tmp_path / "checkout")
    git(root, "init", "-q", "-b", "main")
    commit(root, FIRST)
    (root / "content/blog/dated.md").write_text(entry("Dated", DATED))
    (root / "content/blog/undated.md").write_text("---\ntitle: Undated\n---\n")
    commit(root, SECOND)
    (root / "content/blog/other.md").write_text("---\ntitle: Other\n---\n")
    commit(root, SECOND + 60)
    return root


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "store")


def built(root: Path, store: Store, *, without_history: bool = False) -> BuildResult:
    return build(root, store, now=now_ms(), without_history=without_history)


def target(store: Store) -> WorkspaceStore:
    [workspace] = store.workspaces()
    return store.workspace(workspace)


def other_owner(monkeypatch: pytest.MonkeyPatch, root: Path) -> Path:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")  # git's own way to test what it says then
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    return root


def no_git(monkeypatch: pytest.MonkeyPatch, root: Path) -> Path:
    monkeypatch.setenv("PATH", str(root))
    return root


def no_repository(_monkeypatch: pytest.MonkeyPatch, root: Path) -> Path:
    shutil.rmtree(root / ".git")
    return root


def no_objects(_monkeypatch: pytest.MonkeyPatch, root: Path) -> Path:
    """Another copy, whose head is known, and whose history is not."""
    root = shutil.copytree(root, root.with_name("copy"))
    first = subprocess.run(
        ["git", "-C", str(root), "rev-parse", "HEAD~1^{tree}"], check=True, capture_output=True, text=True
    ).stdout.strip()
    (root / ".git/objects" / first[:2] / first[2:]).unlink()
    return root


def shallow(_monkeypatch: pytest.MonkeyPatch, root: Path) -> Path:
    clone = root.with_name("clone")
    git(root.parent, "clone", "-q", "--depth", "1", root.as_uri(), str(clone))
    return clone


LOSSES = {
    other_owner: "dubious ownership",
    no_git: "not installed here",
    no_repository: "in no git repository",
    no_objects: "Git says: ",
    shallow: "this git clone is shallow",
}
Loss = Callable[[pytest.MonkeyPatch, Path], Path]


@pytest.mark.parametrize(("loss", "reason"), LOSSES.items(), ids=[loss.__name__ for loss in LOSSES])
def test_nothing_is_published_with_other_dates(
    loss: Loss, reason: str, root: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = built(root, store)
    assert whole.problems.warnings == 0
    before = target(store).manifest(whole.version)
    poor = loss(monkeypatch, root)
    with pytest.raises(WorkspaceRefused) as refused:
        built(poor, store)
    [error] = [problem for problem in refused.value.problems.kept if problem.severity == "error"]
    assert reason in error.message
    assert "--without-history" in error.message
    assert whole.version in error.message
    assert target(store).versions() == [whole.version]
    # Asked for, it is published, and is what the next build is compared with.
    other = built(poor, store, without_history=True)
    assert other.activated
    assert target(store).manifest(other.version).content != before.content
    assert built(poor, store).version == other.version
    (poor / "content/blog/more.md").write_text(entry("More", DATED))
    assert built(poor, store).activated


@pytest.mark.parametrize("loss", [other_owner, no_git, no_repository, no_objects, shallow])
def test_versions_of_older_programs_are_looked_into(
    loss: Loss, root: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = built(root, store)
    forget_history(store)
    with pytest.raises(WorkspaceRefused, match="nothing was built"):
        built(loss(monkeypatch, root), store)
    assert target(store).versions() == [whole.version]


def forget_history(store: Store) -> None:
    """Make the current version one of a program that did not record what was from git."""
    workspace = target(store)
    [version] = workspace.versions()
    path = workspace.path(version, "manifest.json")
    manifest = json.loads(path.read_bytes())
    assert manifest.pop("history") == "whole"
    path.chmod(0o644)
    path.write_text(json.dumps(manifest))
    (workspace.directory / "current").unlink()
    workspace.activate(version, expected=None, by="a@b", now=now_ms())


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("loss", [other_owner, no_git, no_repository])
def test_content_that_gives_its_dates_needs_no_git(
    loss: Loss, older: bool, tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_workspace(tmp_path / "dated")
    for path in (root / "content").rglob("*.md"):
        path.write_text(entry("Dated", DATED))
    (root / "content/authors/mika.yaml").write_text(f"name: Mika\ncreatedAt: 2026-01-01\n{DATED}")
    git(root, "init", "-q")
    commit(root, FIRST)
    first = built(root, store)
    assert target(store).manifest(first.version).history == "none"
    if older:
        path = target(store).path(first.version, "manifest.json")
        path.chmod(0o644)
        path.write_text(path.read_text().replace('"history": "none",', ""))
        (target(store).directory / "current").unlink()
        target(store).activate(first.version, expected=None, by="a@b", now=now_ms())
    poor = loss(monkeypatch, root)
    (poor / "content/blog/more.md").write_text(entry("More", DATED))
    assert built(poor, store).activated


def test_git_s_reason_is_told_once_for_all_files(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other_owner(monkeypatch, root)
    [problem] = check(root, tmp_path / "cache").kept
    assert (problem.file, problem.severity) == ("workspace.yaml", "warning")
    assert "detected dubious ownership in repository" in problem.message
    assert f"git config --global --add safe.directory {root}" in problem.message
    assert "1970-01-01" in problem.message
    # What git said is not remembered: trusting the folder changes no file of it.
    monkeypatch.delenv("GIT_TEST_ASSUME_DIFFERENT_OWNER")
    assert check(root, tmp_path / "cache").kept == []


def test_a_clone_that_became_whole_is_read_again(root: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = shallow(monkeypatch, root)
    for path in clone.rglob("*"):  # settled: a build of unchanged files is answered from memory
        os.utime(path, (FIRST, FIRST))
    poor = built(clone, store)
    assert [problem.kind for problem in poor.problems.kept] == ["shallow-clone"]
    git(clone, "fetch", "-q", "--unshallow")
    whole = built(clone, store)
    assert whole.changed
    assert target(store).manifest(whole.version).history == "whole"


def test_a_shallow_clone_that_goes_back_far_enough_is_whole(
    root: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all entries came after the clone's end, no date of any is cut off."""
    shutil.rmtree(root / "content")
    (root / "content/blog").mkdir(parents=True)
    commit(root, SECOND + 100)
    (root / "content/blog/new.md").write_text("---\ntitle: New\n---\n")
    commit(root, SECOND + 200)
    first = built(root, store)
    clone = root.with_name("clone")
    git(root.parent, "clone", "-q", "--depth", "2", root.as_uri(), str(clone))
    assert built(clone, store).version == first.version

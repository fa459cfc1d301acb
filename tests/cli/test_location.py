"""Where a store is made, and what of it git sees."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.programs.command_line import Cms, in_process, write_workspace


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    return in_process(monkeypatch, capsys)


@pytest.fixture
def adopted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of content that is in git already, with nothing of the program's in its ``.gitignore``."""
    folder = write_workspace(tmp_path / "adopted")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    monkeypatch.chdir(folder)
    return folder


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    "command", [["check"], ["snapshot", "build"], ["key", "create", "website"], ["draft", "rotate"]], ids=" ".join
)
def test_git_sees_nothing_of_a_store_in_an_adopted_folder(cms: Cms, adopted: Path, command: list[str]) -> None:
    assert cms(*command).status == 0
    assert (adopted / ".cms/.gitignore").read_text(encoding="utf-8") == "*\n"
    assert cms("snapshot", "build").status == 0
    assert cms("key", "create", "another").status == 0
    assert git(adopted, "status", "--porcelain", "--untracked-files=all").count("??") == 0


def test_a_store_that_is_there_and_one_elsewhere_are_left_as_they_are(cms: Cms, adopted: Path, tmp_path: Path) -> None:
    (adopted / ".cms").mkdir()
    assert cms("snapshot", "build").status == 0
    assert not (adopted / ".cms/.gitignore").exists()
    assert cms("snapshot", "build", "--store", tmp_path / "store").status == 0
    assert not (tmp_path / "store/.gitignore").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_nobody_may_write_to_can_be_checked(cms: Cms, adopted: Path) -> None:
    adopted.chmod(0o555)
    try:
        assert cms("check").status == 0
        assert "permission denied" in cms("snapshot", "build").err
    finally:
        adopted.chmod(0o755)

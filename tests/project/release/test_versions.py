"""What says of itself which version it is agrees: the changelog, the page on versions, the programs that are built."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import date
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from snapshots.version import VERSION
from tests.project.test_docs import blocks, check_links, matches

REPOSITORY = Path(__file__).parents[3]
CHANGELOG = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")


def sections() -> list[tuple[str, str]]:
    """(heading, text) of each version in the changelog."""
    parts = re.split(r"^## (.+)$", CHANGELOG, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def test_the_changelog_goes_by_version_from_this_one_back() -> None:
    headings = [heading for heading, _ in sections() if heading != "Unreleased"]
    found = [re.fullmatch(r"(\S+) - (\d{4}-\d\d-\d\d)", heading) for heading in headings]
    assert None not in found
    versions = [(Version(one[1]), date.fromisoformat(one[2])) for one in found if one]
    assert versions[0][0] == Version(VERSION)
    assert versions == sorted(versions, reverse=True)
    for heading, text in sections():
        kinds = re.findall(r"^### (.+)$", text, re.MULTILINE)
        assert kinds == [
            kind for kind in ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security") if kind in kinds
        ]
        assert kinds, heading


def test_the_page_shows_what_the_command_prints() -> None:
    check_links("versions.md")
    shown_command, release = blocks("versions.md")
    assert (REPOSITORY / release.text.split()[1]).is_file()
    block = shown_command
    command, _, shown = block.text.removeprefix("$ ").partition("\n")
    assert command == "cms --version"
    ran = subprocess.run(
        [sys.executable, "-m", "cli.main", "--version"], capture_output=True, text=True, check=True, cwd=REPOSITORY
    )
    assert matches(shown, ran.stdout)


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that runs when a package is built."""
    monkeypatch.delenv("PARQUETRY_COMMIT", raising=False)
    spec = spec_from_file_location("hatch_build", REPOSITORY / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def git(folder: Path, *arguments: str) -> str:
    surroundings = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    who = ["-c", "user.name=Mika", "-c", "user.email=mika@example.com", "-c", "init.defaultBranch=main"]
    ran = subprocess.run(
        ["git", *who, *arguments], cwd=folder, env=surroundings, capture_output=True, text=True, check=True
    )
    return ran.stdout.strip()


def test_a_build_records_the_commit_of_its_own_checkout(
    tmp_path: Path, hook: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hook.commit_of(tmp_path) is None
    git(tmp_path, "init")
    assert hook.commit_of(tmp_path) is None, "there is no commit yet"
    (tmp_path / "file").write_text("1")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "One")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert hook.commit_of(tmp_path) == commit
    (tmp_path / "beside").write_text("not part of it")
    assert hook.commit_of(tmp_path) == commit
    (tmp_path / "file").write_text("2")
    assert hook.commit_of(tmp_path) == f"{commit}-dirty"
    (tmp_path / "inside").mkdir()
    assert hook.commit_of(tmp_path / "inside") is None, "the checkout is somebody else's"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert hook.commit_of(tmp_path) is None, "there is no git"
    monkeypatch.setenv("PARQUETRY_COMMIT", commit)
    assert hook.commit_of(tmp_path) == commit


@pytest.mark.parametrize(
    ("text", "told"), [(b"0123abcd\n", "0123abcd"), (b"", "unknown"), (b"\xff", "unknown"), (None, "unknown")]
)
def test_the_program_tells_the_commit_that_was_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes | None, told: str
) -> None:
    from snapshots import version

    if text is not None:
        (tmp_path / "commit.txt").write_bytes(text)
    monkeypatch.setattr(version, "_COMMIT", tmp_path / "commit.txt")
    assert version.commit.__wrapped__() == told

"""What git says of a workspace, for an editor to find it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from snapshots.editing.repository import Repository, find_repository


@pytest.mark.parametrize(
    ("remote", "service", "name"),
    [
        ("git@github.com:acme/content.git", "github", "acme/content"),
        ("https://github.com/acme/content", "github", "acme/content"),
        ("https://user:secret@gitlab.com/acme/group/content.git", "gitlab", "acme/group/content"),
        ("ssh://git@bitbucket.org:22/acme/content.git", "bitbucket", "acme/content"),
        ("https://git.example.com/acme/content.git", None, None),
        ("/srv/git/content.git", None, None),
    ],
)
def test_remotes(tmp_path: Path, remote: str, service: str | None, name: str | None) -> None:
    (tmp_path / "site").mkdir()
    for command in (["init", "-q", "-b", "live"], ["remote", "add", "origin", remote]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    assert find_repository(tmp_path / "site") == Repository(service, name, "live", "site/")


def test_no_repository(tmp_path: Path) -> None:
    assert find_repository(tmp_path) == Repository()

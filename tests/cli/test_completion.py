"""What a shell offers for a word that is being typed, as bash asks for it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.programs.command_line import CMS, Cms, in_process, write_workspace


@pytest.fixture
def cms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    """The command, inside a workspace with a version and two keys."""
    monkeypatch.delenv("CMS_STORE", raising=False)
    monkeypatch.chdir(write_workspace(tmp_path))
    run = in_process(monkeypatch, capsys)
    assert run("snapshot", "build").status == 0
    assert run("key", "create", "website").status == run("key", "create", "two words").status == 0
    return run


def offered(line: str, **environment: str) -> list[str]:
    """What is offered for the last word of a line, which is empty where the line ends in a space."""
    asked = {"_CMS_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    done = subprocess.run(
        [*CMS], env={**os.environ, **asked, **environment}, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_versions_keys_endpoints_and_workspaces(cms: Cms) -> None:
    [version] = [one["version"] for one in cms("snapshot", "list", "--json").json]
    prefixes = {one["prefix"] for one in cms("key", "list", "--json").json}
    for command in ("activate", "show", "verify", "diff"):
        assert offered(f"cms snapshot {command} ") == [version]
    assert offered(f"cms snapshot diff {version} {version[:8]}") == [version]
    assert offered("cms snapshot show x") == []
    for command in ("show", "edit", "disable", "enable", "delete"):
        assert set(offered(f"cms key {command} ")) == prefixes
    assert offered("cms key show web") == ["website"]
    assert offered("cms key show two") == []
    assert offered("cms query --key web") == ["website"]
    for option in ("create x", "edit x"):
        assert offered(f"cms key {option} --api ") == ["authors", "blog"]
    assert offered("cms query ") == ["authors", "blog", "_schema"]
    assert offered("cms query b") == ["blog"]
    assert offered("cms snapshot list -w ") == ["site"]


def test_commands_are_offered_in_every_group(cms: Cms) -> None:
    assert offered("cms sn") == ["snapshot"]
    assert offered("cms snapshot pr") == ["prune"]


def test_the_store_is_the_one_named(cms: Cms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir("/")
    assert offered("cms query ") == ["_schema"]
    assert offered(f"cms query --store {tmp_path}/.cms bl") == ["blog"]
    assert offered("cms query bl", CMS_STORE=f"{tmp_path}/.cms") == ["blog"]
    assert offered("cms query bl", CMS_STORE=f"{tmp_path}/.cms", CMS_MEMROY="1GB") == ["blog"]


def test_what_cannot_be_read_offers_nothing_and_says_nothing(cms: Cms, tmp_path: Path) -> None:
    [version] = [one["version"] for one in cms("snapshot", "list", "--json").json]
    (tmp_path / ".cms/site/current").write_bytes(b"\xff")
    (tmp_path / ".cms/site/access.json").write_bytes(b"\xff")
    assert offered("cms snapshot activate ") == [version], "making it current mends the pointer"
    assert offered("cms key show ") == []
    assert offered("cms query b") == []

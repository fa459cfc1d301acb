"""``--on-publish``: a command gets the event of a version that was made current, and cannot undo that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.programs.command_line import Cms, entry, in_process, process, write_workspace


@pytest.fixture
def cms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    monkeypatch.chdir(write_workspace(tmp_path))
    return in_process(monkeypatch, capsys)


def heard(tmp_path: Path) -> list[Any]:
    """The events in the order in which the command got them."""
    file = tmp_path / "heard"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


KEEP = "{ cat; echo; } >> heard"


def test_the_command_gets_the_event_of_each_version_that_is_made_current(cms: Cms, tmp_path: Path) -> None:
    first = cms("snapshot", "build", "--on-publish", KEEP, "--json").json["version"]
    cms("snapshot", "build", "--on-publish", KEEP)  # nothing changed
    (tmp_path / "content/blog/three.md").write_text(entry("Three"))
    second = cms("snapshot", "build", "--no-activate", "--on-publish", KEEP, "--json").json["version"]
    assert len(heard(tmp_path)) == 1
    assert cms("snapshot", "activate", second, "--on-publish", KEEP).status == 0
    assert cms("snapshot", "activate", second, "--on-publish", KEEP).status == 0  # is current already
    assert cms("snapshot", "rollback", "--on-publish", KEEP).status == 0
    begun, activated, back = heard(tmp_path)
    assert {one["type"] for one in heard(tmp_path)} == {"content.changed"}
    assert begun["data"]["snapshot"].startswith(f"{first}@")
    assert (begun["data"]["reason"], begun["data"]["truncated"], begun["data"]["total"]) == ("activation", True, None)
    assert activated["data"]["snapshot"].startswith(f"{second}@")
    change = {"api": "blog", "id": "three", "lang": "en"}
    assert activated["data"]["changes"] == [{**change, "change": "published"}]
    assert activated["data"]["tags"] == ["site:blog", "site:blog:three"]
    assert activated["data"]["nextChange"] == "2126-01-01T00:00:00.000Z"
    assert (back["data"]["reason"], back["data"]["changes"]) == ("rollback", [{**change, "change": "unpublished"}])


@pytest.mark.parametrize(
    ("command", "how"),
    [("exit 3", "status 3"), ("kill -9 $$", "signal 9"), ("no-such-command-here", "status 127"), ("true <&-", None)],
)
def test_a_command_that_fails_is_a_warning(cms: Cms, tmp_path: Path, command: str, how: str | None) -> None:
    ran = cms("snapshot", "build", "--on-publish", command)
    assert (ran.status, "now current" in ran.out) == (0, True)
    assert ("warning: --on-publish" in ran.err) == (how is not None)
    assert how is None or f"ended with {how}. The snapshot version is current all the same." in ran.err


def test_with_json_what_the_command_prints_is_not_among_the_answer(tmp_path: Path) -> None:
    write_workspace(tmp_path)
    ran = process("snapshot", "build", "--json", "--on-publish", "echo noise", cwd=tmp_path)
    assert (ran.status, ran.json["activated"], ran.err) == (0, True, "noise\n")

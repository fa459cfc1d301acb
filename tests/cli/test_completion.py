"""What a shell offers for a word that is being typed, as bash asks for it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.programs.command_line import CMS, Cms


@pytest.fixture
def cms(cms_in_copy: Cms) -> Cms:
    """The command, inside a workspace with a version and two keys."""
    for name in ("website", "two words"):
        assert cms_in_copy("key", "create", name).status == 0
    return cms_in_copy


def asking(line: str) -> dict[str, str]:
    """The variables in which bash says what it wants to know."""
    return {"_CMS_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}


def offered(cms: Cms, line: str, **environment: str) -> list[str]:
    """What is offered for the last word of a line, which is empty where the line ends in a space."""
    with pytest.MonkeyPatch.context() as inside:
        for name, value in (asking(line) | environment).items():
            inside.setenv(name, value)
        ran = cms()
    assert ran.err == ""
    return ran.out.split()


def test_versions_keys_endpoints_and_workspaces(cms: Cms) -> None:
    [version] = [one["version"] for one in cms("snapshot", "list", "--json").json]
    prefixes = {one["prefix"] for one in cms("key", "list", "--json").json}
    for command in ("activate", "show", "verify", "diff"):
        assert offered(cms, f"cms snapshot {command} ") == [version]
    assert offered(cms, f"cms snapshot diff {version} {version[:8]}") == [version]
    assert offered(cms, "cms snapshot show x") == []
    for command in ("show", "edit", "disable", "enable", "delete"):
        assert set(offered(cms, f"cms key {command} ")) == prefixes
    assert offered(cms, "cms key show web") == ["website"]
    assert offered(cms, "cms key show two") == []
    assert offered(cms, "cms query --key web") == ["website"]
    for option in ("create x", "edit x"):
        assert offered(cms, f"cms key {option} --api ") == ["authors", "blog"]
    assert offered(cms, "cms query ") == [
        "authors",
        "blog",
        "_schema",
        "_openapi",
        "_types/typescript",
        "_types/python",
    ]
    assert offered(cms, "cms query b") == ["blog"]
    assert offered(cms, "cms snapshot list -w ") == ["site"]


def test_how_a_shell_learns_it(cms: Cms) -> None:
    told = cms("completion").out
    assert "cms --install-completion" in told
    assert "completion bash > /etc/bash_completion.d/cms" in told
    for shell in ("bash", "zsh", "fish", "powershell"):
        assert "_CMS_COMPLETE" in cms("completion", shell).out
    assert cms("completion", "dos").status == 2


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_by_the_printed_script(tmp_path: Path) -> None:
    program = tmp_path / "cms"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(CMS)} "$@"\n')
    program.chmod(0o755)
    asked = (
        'eval "$(cms completion bash)"; COMP_WORDS=(cms snapshot pr); COMP_CWORD=2; '
        '_cms_completion cms; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    ran = subprocess.run(["bash", "-c", asked], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout == "prune\n"


def test_commands_are_offered_in_every_group(cms: Cms) -> None:
    assert offered(cms, "cms sn") == ["snapshot"]
    assert offered(cms, "cms snapshot pr") == ["prune"]
    done = subprocess.run([*CMS], env={**os.environ, **asking("cms sn")}, capture_output=True, check=False)
    assert (done.stdout.split(), done.stderr) == ([b"snapshot"], b"")


def test_the_store_is_the_one_named(cms: Cms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir("/")
    assert offered(cms, "cms query ")[0] == "_schema"
    assert offered(cms, f"cms query --store {tmp_path}/.cms bl") == ["blog"]
    assert offered(cms, "cms query bl", CMS_STORE=f"{tmp_path}/.cms") == ["blog"]
    assert offered(cms, "cms query bl", CMS_STORE=f"{tmp_path}/.cms", CMS_MEMROY="1GB") == ["blog"]


def test_what_cannot_be_read_offers_nothing_and_says_nothing(cms: Cms, tmp_path: Path) -> None:
    [version] = [one["version"] for one in cms("snapshot", "list", "--json").json]
    (tmp_path / ".cms/site/current").write_bytes(b"\xff")
    (tmp_path / ".cms/site/access.json").write_bytes(b"\xff")
    assert offered(cms, "cms snapshot activate ") == [version], "making it current mends the pointer"
    assert offered(cms, "cms key show ") == []
    assert offered(cms, "cms query b") == []

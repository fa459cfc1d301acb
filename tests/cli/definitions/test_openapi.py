"""``cms openapi`` and ``cms types``: what a workspace's definitions are for programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.typed.clients import microcms_client, python_client, typescript_client
from engine.typed.python import python_types
from engine.typed.typescript import typescript_types
from snapshots.definitions.workspace import load_workspace
from snapshots.problems import Problems
from tests.programs.command_line import Cms, in_process, write_workspace
from tests.programs.openapi_rules import broken_rules


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cms:
    """The command in the directory of a workspace."""
    for variable in ("CMS_STORE", "CMS_PUBLIC_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(write_workspace(tmp_path))
    return in_process(monkeypatch, capsys)


def test_the_document_of_the_workspace_around(cms: Cms) -> None:
    """Before a first version is built, the definitions are enough."""
    ran = cms("openapi")
    assert (ran.status, ran.err) == (0, "")
    assert broken_rules(ran.json) == []
    assert {"/v1/site/blog", "/v1/site/blog/{entryId}", "/v1/site/authors"} < set(ran.json["paths"])
    assert ran.json["servers"] == [{"url": "http://127.0.0.1:8787"}]
    elsewhere = cms("openapi", "--public-url", "https://content.example/")
    assert elsewhere.json["servers"] == [{"url": "https://content.example"}]


def test_the_current_version_counts_once_there_is_one(cms: Cms, tmp_path: Path) -> None:
    assert cms("snapshot", "build").status == 0
    definition = tmp_path / "apis" / "blog.yaml"
    definition.write_text(definition.read_text() + "  - {id: fresh, name: Fresh, type: text}\n")
    assert "fresh" not in cms("openapi").json["components"]["schemas"]["Blog"]["properties"]
    assert "fresh" not in cms("types", "typescript").out
    assert cms("snapshot", "build").status == 0
    assert "fresh" in cms("openapi").json["components"]["schemas"]["Blog"]["properties"]
    assert "fresh" in cms("types", "typescript").out


def test_types_are_printed_as_they_are(cms: Cms, tmp_path: Path) -> None:
    definitions = load_workspace(tmp_path, Problems())
    assert definitions is not None
    assert cms("types", "typescript").out == typescript_types(definitions.workspace)
    assert cms("types", "python").out == python_types(definitions.workspace)
    assert cms("types", "typescript", "--client").out == typescript_client(definitions.workspace)
    assert cms("types", "typescript", "--microcms").out == microcms_client(definitions.workspace)
    assert cms("types", "python", "--client").out == python_client(definitions.workspace)
    both = cms("types", "typescript", "--client", "--microcms")
    assert (both.status, both.out) == (1, "")
    assert "choose one" in both.err


def test_types_are_those_that_a_key_reads(cms: Cms) -> None:
    unknown = cms("types", "typescript", "--key", "website")
    assert (unknown.status, unknown.out) == (1, "")
    assert "`cms key list`" in unknown.err
    assert cms("snapshot", "build").status == 0
    assert cms("key", "create", "website", "--api", "blog").status == 0
    assert cms("key", "create", "everything").status == 0
    for command in (("types", "typescript", "--client"), ("types", "python", "--client"), ("types", "typescript")):
        every, limited = (cms(*command, "--key", name).out for name in ("everything", "website"))
        assert '"authors"' in every or "Authors" in every
        assert "uthors" not in limited.replace("// Authors", "")


@pytest.mark.parametrize("command", [("openapi",), ("types", "typescript"), ("types", "python")])
def test_a_workspace_that_is_not_there(cms: Cms, command: tuple[str, ...]) -> None:
    ran = cms(*command, "-w", "nowhere")
    assert (ran.status, ran.out) == (1, "")
    assert 'no workspace "nowhere"' in ran.err

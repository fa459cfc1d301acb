"""``cms editor-config``: YAML on standard output, what cannot be edited on standard error."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from tests.programs.command_line import Cms, in_process

EXAMPLE = Path(__file__).parents[3] / "cli" / "creating" / "example"


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cms:
    shutil.copytree(EXAMPLE, tmp_path / "komugi")
    monkeypatch.chdir(tmp_path / "komugi")
    return in_process(monkeypatch, capsys)


def test_the_workspace_around(cms: Cms) -> None:
    decap, sveltia = cms("editor-config"), cms("editor-config", "--editor", "sveltia")
    assert (decap.status, sveltia.status) == (0, 0)
    assert "local_backend" in yaml.safe_load(decap.out)
    assert "local_backend" not in yaml.safe_load(sveltia.out)
    assert "&id" not in decap.out
    assert "warning: bakers: Decap CMS cannot edit a list of entries" in " ".join(decap.err.split())
    assert "bakers" not in sveltia.err


def test_definitions_that_cannot_be_used(cms: Cms) -> None:
    Path("workspace.yaml").write_text("id: x\n")
    ran = cms("editor-config")
    assert (ran.status, ran.out) == (1, "")
    assert "`cms check` shows why" in ran.err

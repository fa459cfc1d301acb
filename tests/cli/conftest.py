"""For tests of commands: the small workspace with a version, which is built once and then copied."""

from __future__ import annotations

import io
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from cli.main import main
from tests.programs.command_line import Cms, in_process, write_workspace


@pytest.fixture(scope="session")
def built_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace of ``write_workspace`` with one version, and what its readers open: to be copied only."""
    root = write_workspace(tmp_path_factory.mktemp("built") / "site")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        patch.delenv("CMS_STORE", raising=False)
        patch.chdir(root)
        for command in (["snapshot", "build"], ["query", "blog"]):
            patch.setattr(sys, "argv", ["cms", *command])
            main()
    return root


@pytest.fixture
def cms_in_copy(
    built_workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Cms:
    """The command, inside a copy of that workspace, which is ``tmp_path``."""
    shutil.copytree(built_workspace, tmp_path, dirs_exist_ok=True)
    monkeypatch.delenv("CMS_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    return in_process(monkeypatch, capsys)

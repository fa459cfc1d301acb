"""``cms`` and ``python -m parquetry`` run the product's own packages, whatever else has their names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from snapshots.version import PROGRAM, commit
from tests.programs.command_line import write_workspace

CMS = Path(sys.executable).with_name("cms")


@pytest.mark.parametrize(
    "command",
    [
        [CMS],
        pytest.param([CMS.with_name("parquetry")], marks=pytest.mark.slow),
        pytest.param([sys.executable, "-m", "parquetry"], marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_folders_of_the_same_names_are_left_alone(tmp_path: Path, command: list[str | Path]) -> None:
    elsewhere = write_workspace(tmp_path / "site")
    for package in ("cli", "engine", "server", "snapshots"):
        (elsewhere / package).mkdir()
        (elsewhere / package / "__init__.py").write_text("raise SystemExit('the wrong package')", encoding="utf-8")
    surroundings = {**os.environ, "PYTHONPATH": str(elsewhere)}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        whole = [*command, *arguments]
        return subprocess.run(whole, check=False, cwd=elsewhere, env=surroundings, capture_output=True, text=True)

    version = run("--version")
    assert (version.stdout.strip(), version.stderr) == (f"{PROGRAM} (commit {commit()})", "")
    built = run("snapshot", "build")
    assert built.returncode == 0, built.stderr

"""Builds that are killed and processes that meet: the store stays usable, ``current`` untouched or moved whole."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TOGETHER = ("activating_at_once", "no_activation_lost", "publishing_at_once", "staging_while_others_sweep")


@pytest.mark.parametrize(
    "modes",
    [
        pytest.param(TOGETHER, id="processes that meet"),
        pytest.param(("killed_at_every_step", "killed_at_random"), id="killed", marks=pytest.mark.slow),
    ],
)
def test_the_store_survives(tmp_path: Path, modes: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.stores.store_crashes", str(tmp_path), *modes],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr

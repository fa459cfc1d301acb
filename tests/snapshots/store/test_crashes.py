"""Builds that are killed and processes that meet: the store stays usable, ``current`` untouched or moved whole."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MODES = (
    pytest.param("killed_at_every_step", marks=pytest.mark.slow),
    pytest.param("killed_at_random", marks=pytest.mark.slow),
    "activating_at_once",
    "no_activation_lost",
    "publishing_at_once",
    "staging_while_others_sweep",
)


@pytest.mark.parametrize("mode", MODES)
def test_the_store_survives(tmp_path: Path, mode: str) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.stores.store_crashes",
            mode,
            str(tmp_path / "store"),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr

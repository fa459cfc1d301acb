"""Packages of PyPI that tests run and the project does not need, installed once for all runs on a machine."""

from __future__ import annotations

import hashlib
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from snapshots.store.durable import locked


def installed(*requirements: str) -> Path:
    """Install packages in an environment of their own where that was not done yet: the folder of their programs.

    Skips the test where they cannot be installed, except in continuous integration.
    """
    # The versions that the project is tested with are others than those that these need.
    environment = {name: value for name, value in os.environ.items() if "CONSTRAINT" not in name}
    name = hashlib.sha256(" ".join((sys.version, *requirements)).encode()).hexdigest()[:12]
    place = Path(tempfile.gettempdir()) / f"parquetry-python-{os.getuid()}-{name}"
    place.mkdir(mode=0o700, exist_ok=True)
    assert place.stat().st_uid == os.getuid()
    programs = place / "env" / "bin"
    with locked(place / "lock", seconds=math.inf):
        if not (place / "complete").exists():
            for command in (
                [sys.executable, "-m", "venv", "--clear", str(place / "env")],
                [str(programs / "pip"), "install", "--quiet", "--disable-pip-version-check", *requirements],
            ):
                done = subprocess.run(
                    command, env=environment, capture_output=True, text=True, timeout=300, check=False
                )
                if done.returncode and "CI" not in os.environ:
                    pytest.skip(f"{' '.join(requirements)} cannot be installed: {done.stderr.strip()[-200:]}")
                assert done.returncode == 0, done.stderr
            (place / "complete").touch()
    return programs

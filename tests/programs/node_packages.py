"""Packages of npm that tests need, installed once for all runs on a machine."""

from __future__ import annotations

import hashlib
import math
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest

from snapshots.store.durable import locked

PACKAGE = Path(__file__).parents[1] / "server" / "reference" / "clients" / "package.json"


def node_modules(listed: Path = PACKAGE) -> Path:
    """Install the packages of a package.json where that was not done yet: the folder they are in.

    Skips the test where they cannot be installed, except in continuous integration.
    """
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("node and npm are not installed")
    package = listed.read_bytes()
    place = Path(tempfile.gettempdir()) / f"parquetry-clients-{os.getuid()}-{hashlib.sha256(package).hexdigest()[:12]}"
    place.mkdir(mode=0o700, exist_ok=True)
    assert place.stat().st_uid == os.getuid()
    with locked(place / "lock", seconds=math.inf):
        if not (place / "complete").exists():
            (place / "package.json").write_bytes(package)
            command = ["npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"]
            done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=300, check=False)
            if done.returncode and "CI" not in os.environ:
                pytest.skip(f"npm cannot install the packages: {done.stderr.strip()[-200:]}")
            assert done.returncode == 0, done.stderr
            (place / "complete").touch()
    return place / "node_modules"


def unpacked(name: str, version: str) -> Path:
    """Fetch one package of npm without those that it needs, where that was not done yet: the folder with its files.

    Skips the test where it cannot be fetched, except in continuous integration.
    """
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    place = Path(tempfile.gettempdir()) / f"parquetry-package-{os.getuid()}-{name.replace('/', '-')}-{version}"
    place.mkdir(mode=0o700, exist_ok=True)
    assert place.stat().st_uid == os.getuid()
    with locked(place / "lock", seconds=math.inf):
        if not (place / "complete").exists():
            command = ["npm", "pack", f"{name}@{version}", "--silent"]
            done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=300, check=False)
            if done.returncode and "CI" not in os.environ:
                pytest.skip(f"npm cannot fetch {name}: {done.stderr.strip()[-200:]}")
            assert done.returncode == 0, done.stderr
            with tarfile.open(place / done.stdout.split()[-1]) as archive:
                archive.extractall(place, filter="data")
            (place / "complete").touch()
    return place / "package"

"""``deploy/``: the unit and the recipe are ones that their own tools accept, with settings that there are."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from server.settings import TABLE, read_settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
VARIABLES = {setting.variable for setting in TABLE}


def assignments(text: str) -> dict[str, str]:
    return dict(re.findall(r"^(?:# )?([A-Z_]+)=(.+)$", text, re.MULTILINE))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze on this machine")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "parquetry.service"
    text = (DEPLOY / "parquetry.service").read_text()
    assert text.count("/opt/parquetry/bin/cms serve") == 1
    unit.write_text(text.replace("/opt/parquetry/bin/cms", sys.executable))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False, timeout=60
    )
    about_it = [line for line in done.stderr.splitlines() if "parquetry" in line]
    assert (done.returncode, about_it) == (0, [])


def test_the_settings_of_the_unit_are_ones_the_server_takes() -> None:
    found = assignments((DEPLOY / "parquetry.env").read_text())
    assert found.keys() <= VARIABLES
    settings = read_settings({}, found)
    assert settings.log_format == "json"
    assert settings.metrics == found["CMS_METRICS"]


def test_the_recipe_sets_what_there_is_and_copies_what_it_needs() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    found = dict(re.findall(r"\b(CMS_[A-Z_]+)=(\S+)", text))
    assert found.keys() <= VARIABLES
    settings = read_settings({}, found)
    assert f"EXPOSE {settings.port}" in text
    assert settings.host == "0.0.0.0"
    assert f'VOLUME ["{settings.store}", "{settings.cache}"]' in text
    left_out = (ROOT / ".dockerignore").read_text().split()
    needed = ("pyproject.toml", "constraints.txt", "README.md", "LICENSE", "cli", "engine", "server", "snapshots")
    assert not set(left_out) & set(needed)

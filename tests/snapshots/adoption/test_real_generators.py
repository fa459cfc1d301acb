"""The real generators make the pages that the sites of the tests say they make."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs.node_packages import node_modules
from tests.programs.python_packages import installed
from tests.sites.generator_sites import (
    ELEVENTY,
    HEXO,
    HUGO,
    JEKYLL,
    MARK,
    MKDOCS,
    PELICAN,
    VITEPRESS,
)
from tests.sites.site_folders import write_folder

pytestmark = pytest.mark.slow

PACKAGES = Path(__file__).parent / "generators" / "package.json"
SITES = {
    "hugo": (HUGO, ["hugo", "--quiet"], "public"),
    "jekyll": (JEKYLL, ["jekyll", "build", "--quiet"], "_site"),
    "mkdocs": (MKDOCS, [sys.executable, "-m", "mkdocs", "build", "--quiet"], "site"),
    "pelican": (PELICAN, ["pelican", "--quiet"], "output"),
    "eleventy": (ELEVENTY, ["node", "@11ty/eleventy/cmd.cjs", "--quiet"], "_site"),
    "hexo": (HEXO, ["node", "hexo/bin/hexo", "generate", "--silent"], "public"),
    "vitepress": (VITEPRESS, ["node", "vitepress/bin/vitepress.js", "build", "docs"], "docs/.vitepress/dist"),
}
NOT_PUBLIC = {"pelican": "drafts"}
"""Folders of the output with pages that are no part of the site."""


def command_of(name: str, written: list[str], root: Path) -> list[str]:
    """Return the command that makes a site; skips the test where the generator is not there."""
    program, *rest = written
    if program == "node":
        modules = node_modules(PACKAGES)
        if not (root / "node_modules").exists():
            (root / "node_modules").symlink_to(modules)
        return [program, str(modules / rest[0]), *rest[1:]]
    if name == "pelican":
        return [str(installed("pelican[markdown]==4.12.0") / program), *rest]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    return written


@pytest.mark.parametrize("name", SITES)
def test_the_generator_makes_these_pages(name: str, tmp_path: Path) -> None:
    site, written, output = SITES[name]
    root = write_folder(tmp_path / "site", site.files)
    command = command_of(name, written, root)
    environment = {**os.environ, "TZ": "UTC", "ELEVENTY_ENV": "production", "JEKYLL_ENV": "production"}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert marks_in(root / output, NOT_PUBLIC.get(name, "-")) == site.made


def marks_in(output: Path, left_out: str) -> set[str]:
    files = [path for path in output.rglob("*") if path.is_file() and left_out not in path.relative_to(output).parts]
    return {mark for path in files for mark in MARK.findall(path.read_text(errors="replace"))}

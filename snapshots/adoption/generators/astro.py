"""Astro: the collections below ``src/content/``."""

from __future__ import annotations

from pathlib import Path

from snapshots.adoption.generator import Generator, LeftOut
from snapshots.adoption.languages import main_first
from snapshots.adoption.site import Site, in_folder, spelled

_BASE = "src/content/"


def _read(_root: Path, files: list[str]) -> Site | None:
    """Return what an Astro site holds; ``None`` without a collection."""
    below = [file for file in files if file.startswith(_BASE) and file.count("/") > 2]
    collections, languages = [], list[str]()
    for name in sorted({file.split("/")[2] for file in below}):
        made, found = in_folder(name, f"{_BASE}{name}/", [file for file in below if file.split("/")[2] == name])
        collections.append(made)
        languages += found
    codes, lang_map = spelled(main_first(languages or ["en"]))
    return Site("Astro", codes, collections, lang_map)


ASTRO = Generator(
    name="Astro",
    known_by=("astro.config.*",),
    content=(_BASE,),
    left_out=(
        LeftOut("**/_*/**", "Astro leaves out names that begin with _"),
        LeftOut("**/_*", "Astro leaves out names that begin with _"),
    ),
    read=_read,
)

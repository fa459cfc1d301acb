"""Astro: the collections below ``src/content/``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from snapshots.adoption.configured.setting import Setting
from snapshots.adoption.generator import Generator, LeftOut
from snapshots.adoption.languages import Spoken, main_first
from snapshots.adoption.shortcodes import ALERTS, STATEMENTS
from snapshots.adoption.site import Site, in_folder, literal, spelled

_BASE = "src/content/"
_UNDERSCORE = "Astro leaves out names that begin with _"
_STARLIGHT = Setting(("src/content.config.*", "src/content/config.*"), r"\b(docsLoader)\(")
_MAIN = Setting(
    ("astro.config.*",),
    r"\broot[\"']?\s*:\s*\{[^{}]*?\blang:\s*[\"'`]([^\"'`]+)",
)
_DEFAULT = Setting(("astro.config.*",), r"\bdefaultLocale:\s*[\"'`]([^\"'`]+)")
_LOCALES = (
    Setting(("astro.config.*",), r"\blocales:\s*\[([^\]]*)\]"),
    Setting(
        ("astro.config.*",),
        r"[\"']?\b([a-z]{2,3}(?:-\w+)*)[\"']?\s*:\s*\{\s*(?:label|lang|dir)\b",
    ),
)


def _read(root: Path, files: list[str]) -> Site | None:
    """Return what an Astro site holds; ``None`` without a collection."""
    spoken = ASTRO.spoken(root) or Spoken()
    below = [file for file in files if file.startswith(_BASE) and file.count("/") > 2]
    collections, languages = [], list[str]()
    for name in sorted({file.split("/")[2] for file in below}):
        made, found = in_folder(name, f"{_BASE}{name}/", [file for file in below if file.split("/")[2] == name], spoken)
        collections.append(made)
        languages += found
    main = [spoken.main] if spoken.main else []
    codes, lang_map = spelled(main_first([*main, *languages] or ["en"], *main))
    return Site("Astro", codes, collections, lang_map, main_is_known=bool(main))


def _folders(root: Path, files: list[str]) -> Iterator[LeftOut]:
    """Return the folders that Astro leaves out, and Starlight does not."""
    is_starlight = bool(_STARLIGHT.values(root))
    for name in {file.split("/")[2] for file in files if file.startswith(_BASE) and file.count("/") > 2}:
        if name != "docs" or not is_starlight:
            yield LeftOut(f"{_BASE}{literal(name)}/**/_*/**", _UNDERSCORE)


ASTRO = Generator(
    name="Astro",
    in_utc=True,
    known_by=("astro.config.*",),
    content=(_BASE,),
    left_out=(LeftOut("**/_*.*", _UNDERSCORE),),
    more_left_out=_folders,
    main_language=(_MAIN, _DEFAULT),
    language_settings=_LOCALES,
    read=_read,
    tags=ALERTS | STATEMENTS,
)

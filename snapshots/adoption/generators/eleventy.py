"""Eleventy: every file of the input folder that nothing ignores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from snapshots.adoption.configured.setting import Setting
from snapshots.adoption.generator import Generator, LeftOut
from snapshots.adoption.reading import configuration
from snapshots.adoption.site import literal
from snapshots.documents.publicity import is_for_everybody, word_of

_CONFIGURATION = (".eleventy.js", ".eleventy.cjs", "eleventy.config.js", "eleventy.config.[mc]js", "eleventy.config.ts")


def _by_data(root: Path, files: list[str]) -> Iterator[LeftOut]:
    """Return the folders and files that a data file beside them keeps back."""
    for file in (file for file in files if file.endswith(".json")):
        path = PurePosixPath(file)
        name = path.name.removesuffix(".json").removesuffix(".11tydata")
        beside = [one for one in files if one != file and PurePosixPath(one).with_suffix("") == path.with_name(name)]
        if name != path.parent.name and not beside:
            continue
        yield LeftOut(literal(file), "Eleventy reads them as data")
        values = configuration(root, file) or {}
        hiding = [key for key, value in values.items() if word_of(key) and not is_for_everybody(key, value)]
        if hiding:
            here = f"{literal(str(path.parent))}/" if path.parent.name else ""
            pattern = f"{here}**" if name == path.parent.name else f"{here}{literal(name)}.*"
            yield LeftOut(pattern, f"{hiding[0]} in {file} keeps them back")


ELEVENTY = Generator(
    name="Eleventy",
    dated_names=("",),
    understood=("permalink",),
    in_utc=True,
    known_by=_CONFIGURATION,
    content_settings=(
        Setting(_CONFIGURATION, r"\binput:\s*[\"'`]([^\"'`]+)"),
        Setting(_CONFIGURATION, r"setInputDirectory\(\s*[\"'`]([^\"'`]+)"),
    ),
    left_out=(
        LeftOut("**/_includes/**", "Eleventy makes pages with them"),
        LeftOut("**/_layouts/**", "Eleventy makes pages with them"),
        LeftOut("**/_data/**", "Eleventy reads them as data"),
    ),
    left_out_settings=(
        Setting((".eleventyignore", ".gitignore"), r"^(?!#)([^\s!]\S*)"),
        Setting(_CONFIGURATION, r"ignores\.add\(\s*[\"'`]([^\"'`]+)"),
    ),
    left_out_from_site=True,
    more_left_out=_by_data,
    tags={"comment": "", "{#": "", "raw": "{inner}"},
)

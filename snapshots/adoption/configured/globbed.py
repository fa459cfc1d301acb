"""Collections whose files a generator's configuration names by patterns, such as ``**/*.md`` and ``!drafts/**``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from snapshots.adoption.configured.globs import either, javascript_glob
from snapshots.adoption.languages import Spoken
from snapshots.adoption.site import Collection, in_folder, literal
from snapshots.definitions.patterns import InvalidPattern, parse_pattern

_NOT_NAMED = "the site's configuration leaves them out"
_OTHERS = "the site's configuration names these files by {}: name others that are added under 'exclude'"
_WHOLE = re.compile(r"(\*\*/)?(\[[!^]_\])?\*(\.[^/*?]+)?|\*\*")
"""The patterns of all files of a folder, or below it, whatever their extension."""
_UNDERSCORE = ("[^_]", "[!_]")
"""Begin the names that do not begin with an underscore."""


def named_by(patterns: Iterable[str], base: str, files: Iterable[str]) -> list[str]:
    """Return the files below a folder that a pattern names, and none that begins with ``!``."""
    every = [pattern.removeprefix("./") for pattern in patterns]
    named = [javascript_glob(one) for one in every if not one.startswith("!")]
    left = [javascript_glob(one[1:]) for one in every if one.startswith("!")]

    def is_named(file: str) -> bool:
        inside = file.removeprefix(base)
        return any(one.fullmatch(inside) for one in named) and not any(one.fullmatch(inside) for one in left)

    return [file for file in files if file.startswith(base) and is_named(file)]


def globbed(
    name: str, base: str, patterns: list[str], files: list[str], spoken: Spoken | None
) -> tuple[Collection, list[str]] | None:
    """Return the collection of the files below ``base`` that patterns name, and the languages of its folders; ``None``
    where they name no file.

    What the patterns leave out, its definition excludes by patterns, so that files that are added later are left out
    too.
    """
    chosen = named_by(patterns, base, files)
    if not chosen:
        return None
    named = [one.removeprefix("./") for one in patterns if not one.startswith("!")]
    start = _start(named)
    made, languages = in_folder(name, f"{base}{start}", chosen, spoken)
    if all("/" not in one.removeprefix(start) and "**" not in one for one in named) and not languages:
        made.source = [pattern.replace("{path}", "{name}") for pattern in made.source if "{path}/" not in pattern]
    if not all(_WHOLE.fullmatch(one.removeprefix(start)) for one in named):
        made.notes.append(_OTHERS.format(" and ".join(map(repr, named))))
    made.exclude |= dict.fromkeys(_excluded(base, start, patterns), _NOT_NAMED)
    return made, languages


def _start(named: list[str]) -> str:
    """Return the folder with which all patterns begin, with a slash at the end; or none."""
    folders = []
    for one in named:
        parts = one.split("/")[:-1]
        plain = next((at for at, part in enumerate(parts) if any(mark in part for mark in "*?[{(!+@")), len(parts))
        folders.append(parts[:plain])
    shared = [parts[0] for parts in zip(*folders, strict=False) if len(set(parts)) == 1]
    whole = shared if all(folder[: len(shared)] == shared for folder in folders) else []
    return "".join(f"{part}/" for part in whole)


def _excluded(base: str, start: str, patterns: list[str]) -> Iterator[str]:
    """Return patterns, as definitions have them, of what is left out."""
    for one in [pattern[1:].removeprefix("./") for pattern in patterns if pattern.startswith("!")]:
        yield from filter(_is_valid, (f"{literal(base)}{each}" for each in either(one)))
    last = [one.rpartition("/")[2] for one in patterns if not one.startswith("!")]
    if last and all(name.startswith(_UNDERSCORE) for name in last):
        yield f"{literal(base + start)}**/_*"


def _is_valid(pattern: str) -> bool:
    try:
        parse_pattern(pattern)
    except InvalidPattern:
        return False
    return True

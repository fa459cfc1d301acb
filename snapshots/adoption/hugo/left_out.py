"""The files of a Hugo site of which it makes no pages: by its configuration, cascades, mounts and languages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from snapshots.adoption.configured.globs import glob
from snapshots.adoption.generator import LeftOut
from snapshots.adoption.hugo.configuration import Configuration, Mount, hugo_configuration
from snapshots.adoption.reading import documents_of
from snapshots.adoption.site import literal
from snapshots.documents.document import RawValue
from snapshots.documents.publicity import is_for_everybody, word_of

PUBLISHED_FROM: Final = ("publishdate", "pubdate", "published", "date")
"""The keys of the date from which a page is public, the first that it has, where the configuration names no others."""
_OF_NAME: Final = ":filename"
_DATED: Final = re.compile(r"(?:^|/)\d{4}-\d\d-\d\d[^/]*$")
_TARGETS: Final = ("_target", "target")
_OF_TARGETS: Final = frozenset({"path", "lang", "kind", "environment"})


def left_out(root: Path, files: list[str]) -> Iterator[LeftOut]:
    """Return archetypes, what ``ignoreFiles``, mounts and disabled languages leave out, and what a ``cascade`` keeps
    back."""
    yield LeftOut("archetypes/**", "Hugo makes new pages of them")
    found = hugo_configuration(root)
    if found is None:
        return
    ignored = found.values.get("ignorefiles")
    for expression in ignored if isinstance(ignored, list) else ():
        try:
            compiled = re.compile(str(expression))
        except re.error:
            continue
        yield from (LeftOut(literal(file), "ignoreFiles names them") for file in files if compiled.search(file))
    for mount in found.mounts:
        yield from _not_mounted(mount, files)
    for code in found.disabled:
        why = f"the language {code} is disabled"
        yield from (LeftOut(f"{mount.source}**", why) for mount in found.mounts if mount.lang == code)
        yield from (
            LeftOut(literal(file), why)
            for file in files
            if file.lower().rpartition(".")[0].endswith(f".{code.lower()}")
        )
    yield from _cascaded(root, found, files)
    if _OF_NAME in found.names("publishdate", PUBLISHED_FROM):
        yield from _dated_by_name(root, found, files)


def _not_mounted(mount: Mount, files: list[str]) -> Iterator[LeftOut]:
    included, excluded = [glob(one) for one in mount.include], [glob(one) for one in mount.exclude]
    for file in files if included or excluded else ():
        inside = file.removeprefix(mount.source)
        is_in = file.startswith(mount.source) and (
            not included or any(one.fullmatch(inside) or one.fullmatch(f"/{inside}") for one in included)
        )
        if file.startswith(mount.source) and (
            not is_in or any(one.fullmatch(inside) or one.fullmatch(f"/{inside}") for one in excluded)
        ):
            yield LeftOut(literal(file), "the mount of their folder leaves them out")


def _cascaded(root: Path, found: Configuration, files: list[str]) -> Iterator[LeftOut]:
    """Return the files that a ``cascade`` of the configuration, or of the section that they are in, keeps back."""
    yield from _hidden(found.values.get("cascade"), "the configuration", found, files)
    for file in (file for file in files if file.rpartition("/")[2].startswith("_index.")):
        folder = file.rpartition("/")[0]
        for document in documents_of(root, file):
            for key, cascade in document.values.items():
                if key.lower() == "cascade":
                    yield from _hidden(cascade, file, found, files, folder)


def _hidden(
    cascade: RawValue, where: str, found: Configuration, files: list[str], folder: str | None = None
) -> Iterator[LeftOut]:
    inside = files if folder is None else [file for file in files if file.startswith(f"{folder}/")]
    for one in cascade if isinstance(cascade, list) else [cascade]:
        if not isinstance(one, dict):
            continue
        hiding = [key for key, value in one.items() if word_of(key) is not None and not is_for_everybody(key, value)]
        if not hiding:
            continue
        why = f"the cascade in {where} has {hiding[0]}"
        target = next(
            (value for key, value in one.items() if key.lower() in _TARGETS and isinstance(value, dict)), None
        )
        if target is None and folder is not None:
            yield LeftOut(f"{literal(folder)}/**", why)
        else:
            yield from (LeftOut(literal(file), why) for file in _targets(target, found, inside))


def _targets(target: dict[str, RawValue] | None, found: Configuration, files: Iterable[str]) -> Iterator[str]:
    """Return the files that a cascade may mean; all that it does not plainly leave out."""
    wanted = {key.lower(): str(value) for key, value in (target or {}).items() if key.lower() in _OF_TARGETS}
    if "environment" in wanted and not glob(wanted["environment"]).fullmatch("production"):
        return
    if "kind" in wanted and not glob(wanted["kind"]).fullmatch("page"):
        return
    path = glob(wanted["path"]) if "path" in wanted else None
    for file in files:
        for mount in found.mounts:
            if not file.startswith(mount.source):
                continue
            inside = f"/{mount.target}{file.removeprefix(mount.source)}"
            bare = re.sub(r"(?:\.[\w-]{2,7})?\.[^./]+$", "", inside)
            forms = (inside, bare, bare.removesuffix("/index"), inside.rpartition("/")[0])
            if path is None or any(path.fullmatch(form) for form in forms[:3]):
                yield file


def _dated_by_name(root: Path, found: Configuration, files: list[str]) -> Iterator[LeftOut]:
    """Return the files that are public from the date in their names, which no definition reads."""
    names = {name for name in found.names("publishdate", PUBLISHED_FROM) if not name.startswith(":")}
    for file in (file for file in files if _DATED.search(file)):
        keys = {key.lower() for document in documents_of(root, file) for key in document.values}
        if not keys & names:
            yield LeftOut(
                literal(file), "the date in their names says from when they are public: write it as publishDate"
            )

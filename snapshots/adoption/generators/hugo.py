"""Hugo: the sections of what it mounts as content, in the languages of the configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import msgspec

from snapshots.adoption.configured.setting import Setting, permalinks
from snapshots.adoption.folders import is_markdown
from snapshots.adoption.generator import Generator
from snapshots.adoption.hugo.configuration import ENDINGS, FILES, Configuration, hugo_configuration
from snapshots.adoption.hugo.left_out import PUBLISHED_FROM, left_out
from snapshots.adoption.site import Collection, Site, endings, known_timezone, literal, spelled

_INDEX = re.compile(r"/index(?:\.[\w-]+)?\.[^./]+$")
_LINKS = {"ref": "@/{0}{path}", "relref": "@/{0}{path}"}
_PUBLISHED_UNTIL = ("expirydate", "unpublishdate")


class _Root(msgspec.Struct, frozen=True):
    """A folder of content, as Hugo mounts it."""

    folder: str
    """With a slash at the end."""
    lang: str | None
    below: str = ""
    """Where in the site's content it stands, with a slash at the end."""


def _read(root: Path, files: list[str]) -> Site | None:
    """Return what a Hugo site holds; ``None`` where the folder is no such site."""
    found = hugo_configuration(root)
    if found is None:
        return None
    codes = list(found.languages)
    main = codes[0]
    roots = _roots(found)
    files = [file for file in files if is_markdown(file)]
    lang_map: dict[str, str] = {}
    by_name = len(codes) > 1 and all(one.lang is None for one in roots)
    patterns = {one: _pattern(one, main, roots, lang_map) for one in roots}
    by_section: dict[str, list[tuple[_Root, str]]] = {}
    for file in files:
        held = max((one for one in roots if file.startswith(one.folder)), key=lambda one: len(one.folder), default=None)
        if held is not None:
            inside = f"{held.below}{file.removeprefix(held.folder)}"
            by_section.setdefault(inside.partition("/")[0] if "/" in inside else "", []).append((held, file))
    lang = ".{lang?}" if by_name else ""
    collections, about_site = [], list[str]()
    for section, held_files in sorted(by_section.items(), key=lambda pair: (not pair[0], pair[0])):
        made = _section(section, held_files, patterns, lang)
        if made is None:
            folder = f"{held_files[0][0].folder}{section}".rstrip("/")
            about_site.append(f"{folder}/ has _index files only, of sections or of terms: they are in no API")
            continue
        made.multilingual = len(codes) > 1
        collections.append(made)
    if not collections:
        return None
    if found.elsewhere:
        about_site.append(f"content comes from {' and '.join(found.elsewhere)} too, which no API reads")
    made_codes, underscores = spelled(codes)
    return Site(
        "Hugo",
        made_codes,
        sorted(collections, key=lambda one: one.name == "pages"),
        {name: code.replace("_", "-") for name, code in lang_map.items()} | underscores,
        timezone=known_timezone(found.values.get("timezone")),
        main_is_known=found.main_is_known,
        starts=found.names("publishdate", PUBLISHED_FROM),
        ends=found.names("expirydate", _PUBLISHED_UNTIL),
        notes=about_site,
    )


def _roots(found: Configuration) -> list[_Root]:
    """Return the folders of the content. Where some are of one language, the others are of the main one."""
    mounts = [one for one in found.mounts if one.lang not in found.disabled]
    others = found.languages[0] if any(one.lang for one in mounts) else None
    return list(dict.fromkeys(_Root(one.source, one.lang or others, one.target) for one in mounts))


def _pattern(one: _Root, main: str, roots: list[_Root], lang_map: dict[str, str]) -> str:
    """Return the pattern of the folder of a root, with ``{lang}`` where its path names the language."""
    parts = one.folder.rstrip("/").split("/")
    if one.lang is None:
        return literal(one.folder)
    plain = one.lang.lower().replace("_", "-")
    at = next((at for at, part in enumerate(parts) if part.lower().replace("_", "-") == plain), None)
    if at is None:
        for position, part in enumerate(parts):
            before = re.fullmatch(rf"(.+[._-])({re.escape(one.lang)})", part, re.IGNORECASE)
            if before is not None:
                if before[2] != one.lang:
                    lang_map[before[2]] = one.lang
                names = [literal(name) for name in parts]
                names[position] = f"{literal(before[1])}{{lang}}"
                return "/".join(names) + "/"
        same = [other for other in roots if other.folder == one.folder]
        if one.lang == main and len(same) == 1 and not _lie_beside(one, roots):
            return literal(one.folder)
        at = len(parts) - 1
    if parts[at] != one.lang:
        lang_map[parts[at]] = one.lang
    return "/".join("{lang}" if position == at else literal(part) for position, part in enumerate(parts)) + "/"


def _lie_beside(one: _Root, roots: list[_Root]) -> bool:
    """Return whether the folders of the other languages lie beside that of ``one``."""
    above = one.folder.rstrip("/").rpartition("/")[0]
    return bool(above) and all(other.folder.rstrip("/").rpartition("/")[0] == above for other in roots)


def _section(
    section: str, held: list[tuple[_Root, str]], patterns: Mapping[_Root, str], lang: str
) -> Collection | None:
    """Return the collection of the pages of a section, or without one of those at the top; ``None`` without a page."""
    mine = [file for _, file in held if "/_index." not in file]
    has_sections = len(mine) < len(held)
    resources = _resources(mine) if section else set()
    mine = [file for file in mine if file not in resources]
    if not mine:
        return None
    source, pages = [], set(mine)
    for one in dict.fromkeys(one for one, _ in held):
        of_root = [file for held_by, file in held if held_by == one and file in pages]
        start = patterns[one] if one.below or not section else f"{patterns[one]}{literal(section)}/"
        part = "{path}" if section else "{name}"
        for ending in endings(of_root):
            if any(re.search(rf"/index(\.[\w-]+)?\.{ending}$", file) for file in of_root) and section:
                source.append(f"{start}{part}/index{lang}.{ending}")
            source.append(f"{start}{part}{lang}.{ending}")
    notes = []
    if resources:
        notes.append("files beside the index of a page bundle are parts of its page: they are left out")
    exclude = dict.fromkeys([*(["**/_index.*"] if has_sections else []), *map(literal, sorted(resources))], "")
    return Collection(
        section or "pages",
        list(dict.fromkeys(source)),
        mine,
        exclude,
        translation_keys=("translationKey",),
        notes=notes,
    )


def _resources(files: list[str]) -> set[str]:
    """Return the files in page bundles that are no pages of their own."""
    bundles = {file.rpartition("/")[0] for file in files if _INDEX.search(file)}
    if not bundles:
        return set()
    return {
        file
        for file in files
        if any(str(folder) in bundles for folder in PurePosixPath(file).parents) and not _INDEX.search(file)
    }


def _folders(root: Path) -> dict[str, str]:
    found = hugo_configuration(root)
    return {} if found is None else {mount.source: mount.target for mount in found.mounts}


HUGO = Generator(
    name="Hugo",
    files_at_root=("static",),
    understood=("draft", "headless", "_build", "build"),
    in_utc=True,
    known_by=FILES,
    content=("content/",),
    content_of=_folders,
    more_left_out=left_out,
    starts=PUBLISHED_FROM,
    starts_off=Setting(FILES, r"(?i)^[\s\"]*buildFuture[\"]?\s*[:=]\s*(true)"),
    ends=_PUBLISHED_UNTIL,
    address_settings=(permalinks((*FILES, *(f"config/_default/permalinks.{ending}" for ending in ENDINGS))),),
    tags=_LINKS | {"comment": "", "highlight": "\n```{0}{inner}```\n"},
    read=_read,
)

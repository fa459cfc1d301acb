"""Hugo: the sections below ``content/``, in the languages of the configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

import msgspec

from snapshots.adoption.folders import is_markdown
from snapshots.adoption.generator import Generator, LeftOut, Setting, permalinks
from snapshots.adoption.reading import configuration, documents_of
from snapshots.adoption.site import Collection, Site, endings, known_timezone, literal, spelled
from snapshots.documents.document import RawValue
from snapshots.documents.publicity import is_for_everybody, word_of

_ENDINGS = ("toml", "yaml", "yml", "json")
_INDEX = re.compile(r"/index(?:\.[\w-]+)?\.[^./]+$")
_LINKS = {"ref": "@/{0}{path}", "relref": "@/{0}{path}"}
_STEMS = ("hugo", "config", "config/_default/hugo", "config/_default/config")
_CONFIGURATION = tuple(f"{stem}.{ending}" for stem in _STEMS for ending in _ENDINGS)


class _Root(msgspec.Struct, frozen=True):
    """A folder of content, as Hugo mounts it."""

    folder: str
    """With a slash at the end."""
    lang: str | None
    below: str = ""
    """Where in the site's content it stands, with a slash at the end."""


def _configured(root: Path, name: str) -> dict[str, RawValue]:
    """Return what ``config/_default/<name>`` says, else the key of that name in the configuration."""
    values = configuration(root, *_CONFIGURATION) or {}
    more = configuration(root, *(f"config/_default/{name}.{ending}" for ending in _ENDINGS))
    said = more if more is not None else values.get(name)
    return dict(said) if isinstance(said, Mapping) else {}


def _read(root: Path, files: list[str]) -> Site | None:
    """Return what a Hugo site holds; ``None`` where the folder is no such site."""
    values = configuration(root, *_CONFIGURATION)
    if values is None:
        return None
    languages = _configured(root, "languages")
    keys = {key.lower(): value for key, value in values.items()}
    main = str(keys.get("defaultcontentlanguage") or next(iter(languages), "en"))
    codes = [main, *(code for code in languages if code != main)]
    roots = _roots(root, languages, str(keys.get("contentdir") or "content").strip("/"), main)
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
    made_codes, underscores = spelled(codes)
    return Site(
        "Hugo",
        made_codes,
        sorted(collections, key=lambda one: one.name == "pages"),
        {name: code.replace("_", "-") for name, code in lang_map.items()} | underscores,
        timezone=known_timezone(keys.get("timezone")),
        main_is_known="defaultcontentlanguage" in keys or bool(languages),
        notes=about_site,
    )


def _roots(root: Path, languages: Mapping[str, RawValue], content: str, main: str) -> list[_Root]:
    """Return the folders of the content: those of the languages, those that are mounted, or ``content``."""
    found = []
    for code, value in languages.items():
        said = {key.lower(): one for key, one in value.items()} if isinstance(value, dict) else {}
        if said.get("contentdir"):
            found.append(_Root(f"{str(said['contentdir']).strip('/')}/", code))
    mounts = _configured(root, "module").get("mounts")
    for one in mounts if isinstance(mounts, list) else ():
        said = {key.lower(): value for key, value in one.items()} if isinstance(one, dict) else {}
        target, source = str(said.get("target") or "").strip("/"), str(said.get("source") or "").strip("/")
        if target.partition("/")[0] != "content" or not source or not (root / source).is_dir():
            continue
        below = f"{target.partition('/')[2]}/" if "/" in target else ""
        found.append(_Root(f"{source}/", _language_of_mount(said) or None, below))
    if found and any(one.lang for one in found):
        found = [one if one.lang else msgspec.structs.replace(one, lang=main) for one in found]
    if not found or (not any(one.lang == main for one in found) and (root / content).is_dir()):
        found.append(_Root(f"{content}/", main if found else None))
    return list(dict.fromkeys(found))


def _language_of_mount(said: Mapping[str, RawValue]) -> str:
    """Return the language of a mount: ``lang``, or since Hugo 0.153 the first of ``sites.matrix.languages``."""
    sites = said.get("sites")
    matrix = sites.get("matrix") if isinstance(sites, dict) else None
    stated = matrix.get("languages") if isinstance(matrix, dict) else None
    first = stated[0] if isinstance(stated, list) and stated else stated
    return str(said.get("lang") or first or "")


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
    source = []
    for one in dict.fromkeys(one for one, _ in held):
        of_root = [file for held_by, file in held if held_by == one and file in set(mine)]
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
        section or "pages", list(dict.fromkeys(source)), mine, exclude, translation_key="translationKey", notes=notes
    )


def _resources(files: list[str]) -> set[str]:
    """Return the files in page bundles that are no pages of their own."""
    bundles = {file.rpartition("/")[0] for file in files if _INDEX.search(file)}
    return {
        file
        for file in files
        if any(str(folder) in bundles for folder in PurePosixPath(file).parents) and not _INDEX.search(file)
    }


def _left_out(root: Path, files: list[str]) -> Iterator[LeftOut]:
    """Return archetypes, the folders whose section says in ``cascade`` that pages below are not for everybody, and the
    files that ``ignoreFiles`` names."""
    yield LeftOut("archetypes/**", "Hugo makes new pages of them")
    values = configuration(root, *_CONFIGURATION) or {}
    ignored = [value for key, value in values.items() if key.lower() == "ignorefiles"]
    for expression in (one for value in ignored if isinstance(value, list) for one in value):
        try:
            compiled = re.compile(str(expression))
        except re.error:
            continue
        yield from (LeftOut(literal(file), "ignoreFiles names them") for file in files if compiled.search(file))
    for file in (file for file in files if file.rpartition("/")[2].startswith("_index.")):
        for document in documents_of(root, file):
            for key, cascade in document.values.items():
                hiding = next(_hiding(cascade), None) if key.lower() == "cascade" else None
                if hiding is not None:
                    folder = literal(file.rpartition("/")[0])
                    yield LeftOut(f"{folder}/**", f"the cascade in {file} has {hiding}")


def _hiding(cascade: RawValue) -> Iterator[str]:
    """Return the keys of a cascade by which pages are kept back."""
    for one in cascade if isinstance(cascade, list) else [cascade]:
        for key, value in one.items() if isinstance(one, dict) else ():
            if word_of(key) is not None and not is_for_everybody(key, value):
                yield key


HUGO = Generator(
    name="Hugo",
    known_by=_CONFIGURATION,
    content=("content/",),
    more_left_out=_left_out,
    starts=("publishdate", "pubdate", "published", "date"),
    starts_off=Setting(_CONFIGURATION, r"(?i)^[\s\"]*buildFuture[\"]?\s*[:=]\s*(true)"),
    address_settings=(permalinks(_CONFIGURATION + tuple(f"config/_default/permalinks.{one}" for one in _ENDINGS)),),
    ends=("expirydate", "unpublishdate"),
    tags=_LINKS | {"comment": ""},
    read=_read,
)

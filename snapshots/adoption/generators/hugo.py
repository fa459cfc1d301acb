"""Hugo: the sections below ``content/``, in the languages of the configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from snapshots.adoption.generator import Generator, LeftOut, Setting, permalinks
from snapshots.adoption.reading import configuration, documents_of
from snapshots.adoption.site import Collection, Site, endings, known_timezone, literal, spelled
from snapshots.documents.document import RawValue
from snapshots.documents.publicity import is_for_everybody, word_of

_ENDINGS = ("toml", "yaml", "yml", "json")
_INDEX = re.compile(r"/index(?:\.[\w-]+)?\.[^./]+$")
_LINKS = {"ref": "@/{0}{path}", "relref": "@/{0}{path}"}
_CONFIGURATIONS = ("hugo", "config", "config/_default/hugo", "config/_default/config")


def _read(root: Path, files: list[str]) -> Site | None:
    """Return what a Hugo site holds; ``None`` where the folder is no such site."""
    values = configuration(root, *(f"{stem}.{ending}" for stem in _CONFIGURATIONS for ending in _ENDINGS))
    below = [file for file in files if file.startswith("content/")]
    if values is None or not below:
        return None
    more = configuration(root, *(f"config/_default/languages.{ending}" for ending in _ENDINGS))
    stated = more if more is not None else values.get("languages")
    languages = dict(stated) if isinstance(stated, dict) else {}
    main = str(values.get("defaultContentLanguage") or next(iter(languages), "en"))
    codes = [main, *(code for code in languages if code != main)]
    settings = {code: value for code, value in languages.items() if isinstance(value, dict)}
    folders = {str(value["contentDir"]).strip("/"): code for code, value in settings.items() if value.get("contentDir")}
    lang_map = {}
    if folders and all(folder.startswith("content/") and folder.count("/") == 1 for folder in folders):
        base, by_name = "content/{lang}/", False
        names = {folder.removeprefix("content/"): code for folder, code in folders.items()}
        lang_map = {name: code for name, code in names.items() if name != code}
        below = [file for file in below if file.split("/")[1] in names and file.count("/") > 1]
    else:
        base, by_name = "content/", len(codes) > 1
    depth = base.count("/")
    lang = ".{lang?}" if by_name else ""
    collections, about_site = [], list[str]()
    for section in sorted({file.split("/")[depth] for file in below if file.count("/") > depth}):
        mine = [file for file in below if file.split("/")[depth] == section and file.count("/") > depth]
        source = []
        for ending in endings(mine):
            if any(re.search(rf"/index(\.[\w-]+)?\.{ending}$", file) for file in mine):
                source.append(f"{base}{literal(section)}/{{path}}/index{lang}.{ending}")
            source.append(f"{base}{literal(section)}/{{path}}{lang}.{ending}")
        has_sections = any("/_index." in file for file in mine)
        mine = [file for file in mine if "/_index." not in file]
        resources = _resources(mine)
        mine = [file for file in mine if file not in resources]
        if not mine:
            about_site.append(
                f"{base}{section}/ has _index files only, of sections or of terms: they are in no API so far; "
                f"a 'source' such as {base}{section}/{{path}}/_index{lang}.md reads them"
            )
            continue
        notes = ["_index files describe sections, not pages: they are left out"] if has_sections else []
        if resources:
            notes.append("files beside the index of a page bundle are parts of its page: they are left out")
        collections.append(
            Collection(
                section,
                source,
                mine,
                dict.fromkeys([*(["**/_index.*"] if has_sections else []), *map(literal, sorted(resources))], ""),
                len(codes) > 1,
                translation_key="translationKey",
                notes=notes,
            )
        )
    top = [file for file in below if file.count("/") == depth and "/_index." not in file]
    if top:
        source = [f"{base}{{name}}{lang}.{ending}" for ending in endings(top)]
        excluded = {"**/_index.*": ""} if any("/_index." in file and file.count("/") == depth for file in below) else {}
        pages = Collection("pages", source, top, excluded, len(codes) > 1, translation_key="translationKey")
        collections.append(pages)
    made, underscores = spelled(codes)
    return Site(
        "Hugo",
        made,
        collections,
        {name: code.replace("_", "-") for name, code in lang_map.items()} | underscores,
        timezone=known_timezone(values.get("timeZone")),
        notes=about_site,
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
    values = configuration(root, *(f"{stem}.{ending}" for stem in _CONFIGURATIONS for ending in _ENDINGS)) or {}
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


_CONFIGURATION = tuple(f"{stem}.{ending}" for stem in _CONFIGURATIONS for ending in _ENDINGS)
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

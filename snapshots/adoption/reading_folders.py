"""Read the collections of a site whose generator's rows say all there is to know."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from snapshots.adoption.data import data_folders
from snapshots.adoption.folders import folders_and_pages, is_markdown
from snapshots.adoption.generator import Generator
from snapshots.adoption.languages import Spoken, folders_of_languages, main_first, with_original
from snapshots.adoption.site import Collection, Site, dated_by_name, endings, in_folder, spelled


def read_folders(generator: Generator, root: Path, files: list[str]) -> Site:
    """Return the site at ``root``: collections of Markdown, and of data files in folders."""
    collections, languages = list[Collection](), list[str]()
    bases = generator.folders(root)
    spoken = generator.spoken(root)
    translated = {} if generator.translated is None else generator.translated(root)
    for base in bases:
        mine = [file for file in files if file.startswith(base) and _base_of(file, bases) == base]
        made, found = _below(generator, root, base, mine, spoken)
        for one in made if {"", base}.intersection(generator.dated_names) else ():
            dated_by_name(one, base)
        if made and base in translated:
            found += _add_translated(made, translated[base], files, spoken)
        collections += made
        languages += found
        data = [file for file in mine if generator.data and "/" in file.removeprefix(base) and not is_markdown(file)]
        more, found = data_folders(root, base, data)
        collections += more
        languages += found
    main = spoken.main if spoken is not None and spoken.main else None
    languages = list(dict.fromkeys(languages))
    codes, lang_map = spelled(main_first([main, *languages] if main else languages or ["en"], main or "en"))
    return Site(generator.name, codes, collections, lang_map, main_is_known=main is not None)


def _base_of(file: str, bases: list[str]) -> str:
    return max((base for base in bases if file.startswith(base)), key=len)


def _add_translated(made: list[Collection], folder: str, files: list[str], spoken: Spoken | None) -> list[str]:
    """Add the translations in a folder of their own to the only collection made; return their languages."""
    before, _, after = folder.partition("{lang}")
    matching = re.compile(rf"{re.escape(before)}([^/]+){re.escape(after)}.")
    found = [(file, match[1]) for file in files if is_markdown(file) and (match := matching.match(file)) is not None]
    if not found or len(made) > 1:
        return []
    one = made[0]
    names = [file for file, _ in found]
    bundled = any(file.endswith(("/index.md", "/index.mdx")) for file in names)
    for ending in endings(names):
        one.source += [f"{folder}{{path}}/index.{ending}"] if bundled else []
        one.source.append(f"{folder}{{path}}.{ending}")
    one.files = sorted({*one.files, *names})
    one.multilingual = True
    return with_original(sorted({code for _, code in found}), spoken.main if spoken else None)


def _below(
    generator: Generator, root: Path, base: str, files: list[str], spoken: Spoken | None
) -> tuple[list[Collection], list[str]]:
    """Return the collections of the Markdown files below a folder of the content, and their languages."""
    markdown = [file for file in files if is_markdown(file)]
    if not markdown:
        return [], []
    if not base and not generator.sections:
        if spoken and spoken.others and generator.beside:
            made, languages = in_folder("pages", base, markdown, spoken)
            return [made], languages
        return folders_and_pages(files, spoken)
    if generator.sections and not (spoken and folders_of_languages(_inside(base, markdown), spoken)[0]):
        return _sections(generator, root, base, markdown, spoken)
    made, languages = in_folder(PurePosixPath(base).name, base, markdown, spoken)
    return [made], languages


def _inside(base: str, files: list[str]) -> list[str]:
    return [file.removeprefix(base) for file in files]


def _sections(
    generator: Generator, root: Path, base: str, files: list[str], spoken: Spoken | None
) -> tuple[list[Collection], list[str]]:
    """Return a collection for each folder of several pages, and one of the pages beside them."""
    by_folder: dict[str, list[str]] = {}
    for file in files:
        first, slash, _ = file.removeprefix(base).partition("/")
        by_folder.setdefault(f"{base}{first}/" if slash else base, []).append(file)
    pages = by_folder.pop(base, [])
    for folder, mine in list(by_folder.items()):
        is_section = not generator.section_file or any((root / folder).glob(generator.section_file))
        if not is_section or _is_one_page(folder, mine):
            pages += by_folder.pop(folder)
    collections, languages = list[Collection](), list[str]()
    for folder, mine in by_folder.items():
        name = PurePosixPath(folder).name.lstrip("_")
        made, found = in_folder(name, folder, sorted(mine), spoken)
        collections.append(made)
        languages += found
    if pages:
        made, found = in_folder("pages", base, sorted(pages), spoken)
        if not any("/" in one.removesuffix("/index") for one in map(_stem, _inside(base, pages))):
            made.source = [pattern.replace("{path}", "{name}") for pattern in made.source]
        collections.append(made)
        languages += found
    return collections, languages


def _is_one_page(folder: str, files: list[str]) -> bool:
    """Return whether a folder holds a page alone, as its index, in whatever languages."""
    return all(_stem(file.removeprefix(folder)) == "index" for file in files)


def _stem(file: str) -> str:
    """Return a path without its extension, and without a language before that."""
    folder, slash, name = file.rpartition("/")
    return f"{folder}{slash}{name.partition('.')[0]}"

"""Folders of Markdown files that no site generator gives a meaning: pages, sections and languages."""

from __future__ import annotations

import re

from snapshots.adoption.languages import is_language, with_original
from snapshots.adoption.site import Collection, endings, in_folder, literal
from snapshots.ids import valid_id

_NOTES = re.compile(r"(README|CHANGELOG|LICEN[CS]E|CONTRIBUTING|CODE_OF_CONDUCT|SECURITY)", re.IGNORECASE)
_MARKDOWN = ("md", "markdown", "mdx")


def is_markdown(file: str) -> bool:
    """Return whether a file is Markdown, by its extension."""
    return file.rpartition(".")[2].lower() in _MARKDOWN


def folders_and_pages(files: list[str], *, spoken: bool = True) -> tuple[list[Collection], list[str]]:
    """Return the collections of Markdown files: pages beside each other, and one of each folder; and their languages.

    Folders that are named after languages are one collection, as are ``pages`` and its translations in ``pages.de``;
    unless it is ``spoken``, no folder is.
    """
    markdown = [file for file in files if is_markdown(file)]
    collections, languages = list[Collection](), list[str]()
    by_folder: dict[str, list[str]] = {}
    for file in markdown:
        if "/" in file:
            by_folder.setdefault(file.partition("/")[0], []).append(file)
    pages = [file for file in markdown if "/" not in file and not _NOTES.match(file)]
    if pages:
        notes = dict.fromkeys(sorted(file for file in markdown if "/" not in file and _NOTES.match(file)), "")
        name = "top-pages" if "pages" in by_folder else "pages"
        source = [f"{{name}}.{ending}" for ending in endings(pages)]
        is_odd = not all(valid_id(file.rpartition(".")[0]) for file in pages)
        collections.append(Collection(name, source, pages, notes, id="{name}" if is_odd else None))
    codes = [folder for folder in by_folder if spoken and is_language(folder)]
    if len(codes) > 1:
        mine = sorted(file for code in codes for file in by_folder.pop(code))
        collections.append(in_folder("pages" if not pages else "content", "", mine)[0])
        languages += codes
    parts = {name: name.partition(".") for name in sorted(by_folder)}
    for folder in parts:
        if spoken and parts[folder][0] in parts and is_language(parts[folder][2]):
            continue  # beside its original
        made, found = in_folder(folder, f"{folder}/", by_folder[folder], spoken=spoken)
        translated = [
            name for name, (first, _, code) in parts.items() if spoken and first == folder and is_language(code)
        ]
        for name in translated:
            made.files += by_folder[name]
        if translated:
            made.source += [f"{literal(folder)}.{{lang}}/{{path}}.{ending}" for ending in endings(made.files)]
            made.multilingual = True
        collections.append(made)
        languages += [*found, *(with_original([parts[name][2] for name in translated]) if translated else ())]
    return collections, languages

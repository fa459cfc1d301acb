"""Folders of Markdown files that no site generator gives a meaning: pages, sections and languages."""

from __future__ import annotations

import re

from snapshots.adoption.languages import Spoken, ends_of_languages, folders_of_languages, with_original
from snapshots.adoption.site import Collection, endings, in_folder, literal

_NOTES = re.compile(r"(README|CHANGELOG|LICEN[CS]E|CONTRIBUTING|CODE_OF_CONDUCT|SECURITY)", re.IGNORECASE)
_MARKDOWN = ("md", "markdown", "mdx")


def is_markdown(file: str) -> bool:
    """Return whether a file is Markdown, by its extension."""
    return file.rpartition(".")[2].lower() in _MARKDOWN


def folders_and_pages(
    files: list[str],
    spoken: Spoken | None = Spoken(),  # noqa: B008 - it is frozen
) -> tuple[list[Collection], list[str]]:
    """Return the collections of Markdown files: pages beside each other, and one of each folder; and their languages.

    Folders that are named after languages are one collection, as are ``pages`` and its translations in ``pages.de``;
    none is where ``spoken`` is ``None``.
    """
    markdown = [file for file in files if is_markdown(file)]
    collections, languages = list[Collection](), list[str]()
    by_folder: dict[str, list[str]] = {}
    for file in markdown:
        if "/" in file:
            by_folder.setdefault(file.partition("/")[0], []).append(file)
    pages = [file for file in markdown if "/" not in file and not _NOTES.match(file)]
    inside = [file for file in markdown if "/" in file]
    codes = (
        folders_of_languages([file for file in inside if spoken and spoken.names(file.partition("/")[0])], spoken)[0]
        if spoken
        else []
    )
    if len(codes) > 1:
        mine = sorted(file for code in codes for file in by_folder.pop(code, ()))
        collections.append(in_folder("pages" if not pages else "content", "", mine, spoken)[0])
        languages += codes
    if pages:
        collections.insert(0, _pages(markdown, pages, spoken, has_pages="pages" in by_folder))
    parts = {name: name.partition(".") for name in sorted(by_folder)}
    for folder in parts:
        if spoken and parts[folder][0] in parts and spoken.names(parts[folder][2]):
            continue  # beside its original
        made, found = in_folder(folder, f"{folder}/", by_folder[folder], spoken)
        translated = [
            name for name, (first, _, code) in parts.items() if spoken and first == folder and spoken.names(code)
        ]
        for name in translated:
            made.files += by_folder[name]
        if translated:
            made.source += [f"{literal(folder)}.{{lang}}/{{path}}.{ending}" for ending in endings(made.files)]
            made.multilingual = True
        collections.append(made)
        main = spoken.main if spoken else None
        languages += [*found, *(with_original([parts[name][2] for name in translated], main) if translated else ())]
    return collections, languages


def _pages(markdown: list[str], pages: list[str], spoken: Spoken | None, *, has_pages: bool) -> Collection:
    """Return the collection of the files at the top, without the notes about a repository."""
    notes = dict.fromkeys(sorted(file for file in markdown if "/" not in file and _NOTES.match(file)), "")
    ends = ends_of_languages(pages, spoken) if spoken and spoken.suffixes else []
    end = ".{lang?}" if ends else ""
    source = [f"{{name}}{end}.{ending}" for ending in endings(pages)]
    return Collection("top-pages" if has_pages else "pages", source, pages, notes, multilingual=bool(ends))

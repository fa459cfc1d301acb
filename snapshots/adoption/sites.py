"""Recognise a site's folder: its generator, its languages, and its collections of content."""

from __future__ import annotations

import os
import re
from pathlib import Path

from snapshots.adoption.configured.unsupported import other_of
from snapshots.adoption.folders import is_markdown
from snapshots.adoption.generator import Generator
from snapshots.adoption.languages import UNKNOWN, written_in
from snapshots.adoption.reading_folders import read_folders
from snapshots.adoption.registry import PLAIN, at_work_in, generator_of
from snapshots.adoption.settling.joining import join_by_keys
from snapshots.adoption.site import Site, known_timezone, literal
from snapshots.compile.assets import is_image
from snapshots.documents.document import format_of

_NOT_READ = frozenset({"node_modules", "vendor", "_site", "apis"})
_MADE = frozenset({"public", "resources", "themes", "dist", "build"})
"""Folders at the top that hold what a program made of the content, as likely as not."""
_NOT_KNOWN = (
    "{} is not supported: its Markdown is read as a plain folder, whatever it keeps back. See by `cms adopt compare` "
    "that none of that is published"
)
_COMPUTED = (
    "{} is computed by a program, which is not run: name the files that it leaves out under 'exclude', and see by "
    "`cms adopt compare` that none is published"
)
_OTHER_MARKUP = frozenset(
    {
        *(
            "html",
            "htm",
            "adoc",
            "asciidoc",
            "org",
            "rst",
            "textile",
            "pandoc",
            "mdoc",
            "markdoc",
            "mdown",
            "mkd",
            "mkdn",
        ),
        *("mdwn", "qmd", "rmd", "ipynb", "svx", "njk", "liquid", "pug", "haml", "slim", "ejs", "hbs", "webc"),
    }
)
"""Extensions of pages that site generators read, and that are no content here."""
_NO_CONTENT = frozenset(
    {"_includes", "_layouts", "_sass", "admin", "archetypes", "assets", "config", "layouts", "static", *_MADE}
)


def look_at(root: Path) -> Site:
    """Return what the folder of a site holds, as the generator that makes the site reads it."""
    every, others, with_pictures = _content_files(root)
    at_work, makes = at_work_in(root), generator_of(root)
    is_plain = makes is PLAIN
    files = every if is_plain else [file for file in every if file.partition("/")[0] not in _MADE]
    rules = makes.rules(root, every)
    kept_back = {file: (rule.pattern, rule.why) for file in every if (rule := rules.rule_of(file)) is not None}
    files = [file for file in files if file not in kept_back]
    site = _site(root, files, [*(one for one in at_work if one.edits), makes])
    site.kept_back = kept_back
    if makes.joined_by:
        join_by_keys(root, site, makes.joined_by)
    other = other_of(root) if is_plain else None
    if other is not None:
        site.notes.append(_NOT_KNOWN.format(other.name))
    site.notes += [f"{_COMPUTED.format(one)}" for one in makes.unclear(root)]
    site.notes += [] if makes.notes is None else makes.notes(root)
    if makes.starts_off is None or not makes.starts_off.values(root):
        site.starts = site.starts or makes.starts
    else:
        site.starts = ()
    site.ends = site.ends or makes.ends
    site.files_at_root = tuple(folder for folder in makes.files_at_root if (root / folder).is_dir())
    if makes.files_by_name:
        site.files_at_root += tuple(folder for folder in with_pictures if folder)
    site.titles_by_heading = makes.titles_by_heading
    site.ids_are_names = makes.ids_are_names
    site.understood = frozenset(makes.understood)
    if not site.timezone and makes.timezone is not None:
        site.timezone = next(filter(None, map(known_timezone, makes.timezone.values(root))), "")
    if not site.timezone and makes.in_utc:
        site.timezone = "UTC"
    site.tags |= makes.tags
    for collection in site.collections:
        collection.exclude |= dict.fromkeys(_other_folders(root, site, collection.source, every), "")
    _find_main_language(root, site)
    known = {file for collection in site.collections for file in (*collection.files, *collection.exclude)}
    known.update(kept_back)
    site.left_out = [
        file
        for file in files
        if file not in known and "/_index." not in file
        if "/" in file and file.partition("/")[0] not in _NO_CONTENT
    ]
    folders = {file.partition("/")[0] for file in known if "/" in file} - _NO_CONTENT
    site.left_out += [file for file in others if "/" in file and file.partition("/")[0] in folders]
    return site


def content_files(root: Path) -> list[str]:
    """Return every file of a site that could be content, whether the generator makes a page of it or not."""
    files, _, _ = _content_files(root)
    return files if generator_of(root) is PLAIN else [file for file in files if file.partition("/")[0] not in _MADE]


def _site(root: Path, files: list[str], generators: list[Generator]) -> Site:
    """Return the site as the first of ``generators`` reads it that finds content."""
    for one in generators:
        site = one.read(root, files) if one.read is not None else read_folders(one, root, files)
        if site is not None and site.collections:
            return site
    return read_folders(PLAIN, root, files)


def _find_main_language(root: Path, site: Site) -> None:
    """Name the language of what nothing names after the letters in which it is written, where the site says none."""
    if site.main_is_known:
        return
    named = {*site.languages[1:], *site.lang_map}
    main = site.languages[0]
    unnamed = [
        file
        for collection in site.collections
        for file in collection.files
        if is_markdown(file) and not named.intersection(re.split(r"[/.]", file))
    ]
    site.unnamed = len(unnamed)
    if any("{lang}" in pattern for one in site.collections for pattern in one.source) and main not in (UNKNOWN, "en"):
        return
    code = site.written_in = written_in(root, unnamed) if unnamed else None
    if code is not None and code not in site.languages and main in (UNKNOWN, "en"):
        if any(main in re.split(r"[/.]", file) for one in site.collections for file in one.files):
            return  # that language has its own folder
        site.languages = [code, *site.languages[1:]]


def _other_folders(root: Path, site: Site, source: list[str], files: list[str]) -> list[str]:
    """Return patterns for the folders beside those of the languages, whose names would be taken for languages."""
    found: dict[str, None] = {}
    for base in {before for before, lang, _ in (pattern.partition("{lang}/") for pattern in source) if lang}:
        inside = [file.removeprefix(base) for file in files if file.startswith(base)]
        folders = {file.partition("/")[0] for file in inside if "/" in file}
        folders |= {name for name in _NOT_READ if (root / base / name).is_dir()}
        folders -= {*site.languages, *site.lang_map}
        found |= dict.fromkeys(f"{base}{literal(name)}/**" for name in sorted(folders) if not name.startswith("_"))
    return list(found)


def _content_files(root: Path) -> tuple[list[str], list[str], list[str]]:
    """Return every file that could be content, every page in another markup, and every folder with pictures in it, all
    relative to the site."""
    found: list[str] = []
    others: list[str] = []
    with_pictures = set[str]()
    waiting = [""]
    while waiting:
        directory = waiting.pop()
        try:
            with os.scandir(root / directory) as opened:
                entries = list(opened)
        except OSError:
            continue
        for entry in entries:
            name = entry.name
            if name.startswith(".") or entry.is_symlink() or not _is_text(name):
                continue
            stem, _, ending = name.rpartition(".")
            if entry.is_dir():
                if name not in _NOT_READ or directory:
                    waiting.append(f"{directory}{name}/")
            elif stem and format_of(ending) is not None and entry.is_file():
                found.append(f"{directory}{name}")
            elif stem not in ("", "index") and ending in _OTHER_MARKUP and entry.is_file():
                others.append(f"{directory}{name}")
            elif is_image(name) and entry.is_file():
                with_pictures.add(directory.rstrip("/"))
    return sorted(found), sorted(others), sorted(with_pictures)


def _is_text(name: str) -> bool:
    """Return whether a name is UTF-8; no pattern can name another."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True

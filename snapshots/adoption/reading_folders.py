"""Read the collections of a site whose generator's rows say all there is to know."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from snapshots.adoption.data import in_data_folder
from snapshots.adoption.folders import folders_and_pages, is_markdown
from snapshots.adoption.generator import Generator
from snapshots.adoption.languages import main_first
from snapshots.adoption.site import Collection, Site, endings, in_folder, literal, spelled


def read_folders(generator: Generator, root: Path, files: list[str]) -> Site:
    """Return the site at ``root``: collections of Markdown, and of data files in folders."""
    collections, languages = list[Collection](), list[str]()
    bases = generator.folders(root)
    for base in bases:
        mine = [file for file in files if file.startswith(base) and _base_of(file, bases) == base]
        made, found = _below(generator, base, mine)
        collections += made
        languages += found
        data = [file for file in mine if "/" in file.removeprefix(base) and not is_markdown(file)]
        for folder in sorted({f"{base}{file.removeprefix(base).partition('/')[0]}/" for file in data}):
            more, found, _ = in_data_folder(root, folder, [file for file in data if file.startswith(folder)])
            collections += more
            languages += found
    codes, lang_map = spelled(main_first(languages) or ["en"])
    return Site(generator.name, codes, collections, lang_map)


def _base_of(file: str, bases: list[str]) -> str:
    return max((base for base in bases if file.startswith(base)), key=len)


def _below(generator: Generator, base: str, files: list[str]) -> tuple[list[Collection], list[str]]:
    """Return the collections of the Markdown files below a folder of the content, and their languages."""
    markdown = [file for file in files if is_markdown(file)]
    if not markdown:
        return [], []
    if not base:
        return folders_and_pages(files, spoken=generator.languages)
    if generator.sections:
        return _sections(generator, base, markdown)
    made, languages = in_folder(PurePosixPath(base).name, base, markdown, spoken=generator.languages)
    return [made], languages


def _sections(generator: Generator, base: str, files: list[str]) -> tuple[list[Collection], list[str]]:
    """Return a collection for each folder of several pages, and one of the pages beside them."""
    by_folder: dict[str, list[str]] = {}
    for file in files:
        first, slash, _ = file.removeprefix(base).partition("/")
        by_folder.setdefault(f"{base}{first}/" if slash else base, []).append(file)
    pages = by_folder.pop(base, [])
    for folder, mine in list(by_folder.items()):
        if all(PurePosixPath(file).stem.partition(".")[0] == "index" for file in mine) and all(
            file.removeprefix(folder).count("/") == 0 for file in mine
        ):
            pages += by_folder.pop(folder)
    collections, languages = list[Collection](), list[str]()
    for folder, mine in by_folder.items():
        name = PurePosixPath(folder).name.lstrip("_")
        made, found = in_folder(name, folder, sorted(mine), spoken=generator.languages)
        collections.append(made)
        languages += found
    if pages:
        source = list[str]()
        for ending in endings(pages):
            bundled = any(file.endswith(f"/index.{ending}") and "/" in file.removeprefix(base) for file in pages)
            source += [f"{literal(base)}{{name}}/index.{ending}"] if bundled else []
            source += [f"{literal(base)}{{name}}.{ending}"]
        own = Collection("pages", source, sorted(pages))
        collections.append(own)
    return collections, languages

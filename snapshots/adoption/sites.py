"""A site's folder → its kind, its languages, and the collections of content in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from snapshots.documents.document import Format, RawValue, format_of
from snapshots.documents.read import read_documents
from snapshots.problems import Problems

_LANGUAGE = re.compile(r"[a-z]{2,3}([-_][A-Za-z]{2,4})?")
_NOT_CONTENT = frozenset({"node_modules", "public", "resources", "themes", "vendor", "_site", "dist", "build", "apis"})
_NOTES = re.compile(r"(README|CHANGELOG|LICEN[CS]E|CONTRIBUTING|CODE_OF_CONDUCT|SECURITY)", re.IGNORECASE)
_MARKDOWN = ("md", "markdown", "mdx")
_MAX_CONFIGURATION = 1 << 20


class Collection(msgspec.Struct):
    """Content of one sort, which becomes an API."""

    name: str
    source: list[str]
    files: list[str]
    """Relative to the site, sorted."""
    exclude: list[str] = msgspec.field(default_factory=list)
    multilingual: bool = False
    date: str | None = None
    """The template of a date that stands in the files' names."""
    collection: str | None = None
    """``from`` of the API."""
    notes: list[str] = msgspec.field(default_factory=list)
    """What a person has to decide."""


class Site(msgspec.Struct):
    """What a folder says of itself."""

    kind: str
    languages: list[str]
    collections: list[Collection]
    lang_map: dict[str, str] = msgspec.field(default_factory=dict)


def look_at(root: Path) -> Site:
    """Return what the folder of a site holds: a Hugo, Jekyll, Astro or Decap site, or plain files."""
    files = _content_files(root)
    for read in (_decap, _hugo, _jekyll, _astro):
        site = read(root, files)
        if site is not None and site.collections:
            return site
    return _plain(files)


def _content_files(root: Path) -> list[str]:
    """Return every file that could be content, relative to the site."""
    found: list[str] = []
    waiting = [root]
    while waiting:
        directory = waiting.pop()
        try:
            entries = list(directory.iterdir())
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith(".") or entry.is_symlink() or not _is_text(entry.name):
                continue
            if entry.is_dir():
                if entry.name not in _NOT_CONTENT or directory != root:
                    waiting.append(entry)
            elif format_of(entry.suffix[1:]) is not None and entry.is_file():
                found.append(entry.relative_to(root).as_posix())
    return sorted(found)


def _is_text(name: str) -> bool:
    """Return whether a name is UTF-8; no pattern can name another."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _configuration(root: Path, *names: str) -> Mapping[str, RawValue] | None:
    """Return the first of these files that is there, read; ``None`` without one."""
    for name in names:
        path = root / name
        if path.is_file() and path.stat().st_size <= _MAX_CONFIGURATION:
            kind = format_of(path.suffix[1:]) or Format.YAML
            documents = list(read_documents(name, kind, path.read_bytes(), Problems()))
            return documents[0].values if documents else {}
    return None


def _hugo(root: Path, files: list[str]) -> Site | None:
    endings = ("toml", "yaml", "yml", "json")
    places = ("hugo", "config", "config/_default/hugo", "config/_default/config")
    names = [f"{place}.{ending}" for place in places for ending in endings]
    values = _configuration(root, *names)
    below = [file for file in files if file.startswith("content/")]
    if values is None or not below:
        return None
    more = _configuration(root, *(f"config/_default/languages.{ending}" for ending in endings))
    stated = more if more is not None else values.get("languages")
    languages = dict(stated) if isinstance(stated, dict) else {}
    main = str(values.get("defaultContentLanguage") or next(iter(languages), "en"))
    codes = [main, *(code for code in languages if code != main)]
    settings = [value for value in languages.values() if isinstance(value, dict)]
    folders = {str(value["contentDir"]) for value in settings if value.get("contentDir")}
    if folders and folders <= {f"content/{code}" for code in codes}:
        base, by_name = "content/{lang}/", False
        below = [file for file in below if file.split("/")[1] in codes and file.count("/") > 1]
    else:
        base, by_name = "content/", len(codes) > 1
    depth = base.count("/")
    lang = ".{lang?}" if by_name else ""
    collections = []
    for section in sorted({file.split("/")[depth] for file in below if file.count("/") > depth}):
        mine = [file for file in below if file.split("/")[depth] == section and file.count("/") > depth]
        source = []
        for ending in _endings(mine):
            if any(re.search(rf"/index(\.[\w-]+)?\.{ending}$", file) for file in mine):
                source.append(f"{base}{_literal(section)}/{{path}}/index{lang}.{ending}")
            source.append(f"{base}{_literal(section)}/{{path}}{lang}.{ending}")
        has_sections = any("/_index." in file for file in mine)
        mine = [file for file in mine if "/_index." not in file]
        if not mine:
            continue
        notes = ["_index files describe sections, not pages: they are left out"] if has_sections else []
        collections.append(
            Collection(section, source, mine, ["**/_index.*"] if has_sections else [], len(codes) > 1, notes=notes)
        )
    top = [file for file in below if file.count("/") == depth and "/_index." not in file]
    if top:
        source = [f"{base}{{name}}{lang}.{ending}" for ending in _endings(top)]
        excluded = ["**/_index.*"] if any("/_index." in file and file.count("/") == depth for file in below) else []
        collections.append(Collection("pages", source, top, excluded, len(codes) > 1))
    spelled, lang_map = _spelled(codes)
    return Site("Hugo", spelled, collections, lang_map)


def _jekyll(root: Path, files: list[str]) -> Site | None:
    values = _configuration(root, "_config.yml", "_config.yaml")
    if values is None:
        return None
    collections = []
    posts = [file for file in files if file.startswith("_posts/") and _DATED.search(file)]
    if posts:
        folder = "**/" if any(file.count("/") > 1 for file in posts) else ""
        source = [f"_posts/{folder}{{year}}-{{month}}-{{day}}-{{name}}.{ending}" for ending in _endings(posts)]
        collections.append(Collection("posts", source, posts, date="{year}-{month}-{day}"))
    stated = values.get("collections")
    for name in stated if isinstance(stated, (dict, list)) else ():
        mine = [file for file in files if file.startswith(f"_{name}/")]
        if mine and name != "posts":
            collections.append(
                Collection(str(name), [f"_{_literal(str(name))}/{{path}}.{e}" for e in _endings(mine)], mine)
            )
    for file in files:
        if file.startswith("_data/") and file.count("/") == 1:
            data = _data(root, file)
            if data is not None:
                collections.append(data)
    pages = [file for file in files if "/" not in file and file.endswith(_MARKDOWN) and not _NOTES.match(file)]
    if pages:
        source = [f"{{name}}.{ending}" for ending in _endings(pages)]
        collections.append(Collection("pages", source, pages, _notes_in(files)))
    language = values.get("lang")
    return Site(
        "Jekyll", [language if isinstance(language, str) and _LANGUAGE.fullmatch(language) else "en"], collections
    )


_DATED = re.compile(r"/\d{4}-\d{2}-\d{2}-[^/]+$")


def _astro(root: Path, files: list[str]) -> Site | None:
    base = "src/content/"
    if not any((root / f"astro.config.{ending}").is_file() for ending in ("mjs", "ts", "js", "mts", "cjs")):
        return None
    below = [file for file in files if file.startswith(base) and file.count("/") > 2]
    names = sorted({file.split("/")[2] for file in below})
    collections, languages = [], dict[str, None]()
    for name in names:
        mine = [file for file in below if file.split("/")[2] == name]
        folders = {file.split("/")[3] if file.count("/") > 3 else "" for file in mine}
        by_language = all(_LANGUAGE.fullmatch(folder) for folder in folders)
        lang = "{lang}/" if by_language else ""
        languages |= dict.fromkeys(sorted(folders)) if by_language else {}
        source = [f"{base}{_literal(name)}/{lang}{{path}}.{ending}" for ending in _endings(mine)]
        collections.append(Collection(name, source, mine, multilingual=by_language))
    codes = sorted(languages, key=lambda code: (code != "en", code))
    return Site("Astro", _spelled(codes)[0] or ["en"], collections, _spelled(codes)[1])


def _decap(root: Path, files: list[str]) -> Site | None:
    names = [f"{folder}admin/config.{ending}" for folder in ("", "static/", "public/") for ending in ("yml", "yaml")]
    values = _configuration(root, *names)
    if values is None or not isinstance(values.get("collections"), list):
        return None
    i18n = values.get("i18n")
    stated = i18n.get("locales") if isinstance(i18n, dict) else None
    codes = [str(code) for code in stated] if isinstance(stated, list) and stated else ["en"]
    structure = str(i18n.get("structure", "")) if isinstance(i18n, dict) else ""
    collections: list[Collection] = []
    every = values["collections"]
    for one in every if isinstance(every, list) else ():
        if not isinstance(one, dict) or not isinstance(one.get("folder"), str):
            continue
        folder = str(one["folder"]).strip("/")
        mine = [file for file in files if file.startswith(f"{folder}/")]
        if not mine:
            continue
        many = len(codes) > 1 and bool(one.get("i18n"))
        form = {"multiple_folders": "{lang}/{path}", "multiple_files": "{path}.{lang}"}.get(structure, "{path}")
        single = many and structure == "single_file"
        notes = ["all languages in one file: read each field with 'from: \"{lang}.title\"'"] if single else []
        source = [f"{_literal(folder)}/{form if many else '{path}'}.{ending}" for ending in _endings(mine)]
        collections.append(Collection(str(one.get("name") or folder), source, mine, multilingual=many, notes=notes))
    return Site("Decap", _spelled(codes)[0], collections, _spelled(codes)[1])


def _plain(files: list[str]) -> Site:
    collections = []
    pages = [file for file in files if "/" not in file and file.lower().endswith(_MARKDOWN) and not _NOTES.match(file)]
    if pages:
        source = [f"{{name}}.{ending}" for ending in _endings(pages)]
        collections.append(Collection("pages", source, pages, _notes_in(files)))
    for folder in sorted({file.partition("/")[0] for file in files if "/" in file}):
        mine = [file for file in files if file.startswith(f"{folder}/") and file.lower().endswith(_MARKDOWN)]
        if mine:
            collections.append(
                Collection(folder, [f"{_literal(folder)}/{{path}}.{ending}" for ending in _endings(mine)], mine)
            )
    return Site("plain", ["en"], collections)


def _data(root: Path, file: str) -> Collection | None:
    """Return the collection in a data file: a list of mappings, or a mapping of mappings."""
    kind = format_of(file.rpartition(".")[2])
    path = root / file
    if kind is None or path.stat().st_size > _MAX_CONFIGURATION:
        return None
    documents = list(read_documents(file, kind, path.read_bytes(), Problems()))
    name = file.rpartition("/")[2].partition(".")[0]
    if documents and documents[0].item is not None:
        return Collection(name, [_literal(file)], [file])
    if documents and documents[0].values and all(isinstance(value, dict) for value in documents[0].values.values()):
        return Collection(name, [_literal(file)], [file], collection="$")
    return None


def _endings(files: list[str]) -> list[str]:
    """Return the extensions of files as they are written, the most frequent first."""
    written = [file.rpartition(".")[2] for file in files]
    return sorted(set(written), key=lambda ending: (-written.count(ending), ending))


def _literal(name: str) -> str:
    """Return a pattern that matches a path of this name alone."""
    return re.sub(r"[\[*?{}]", lambda found: f"[{found[0]}]", name)


def _notes_in(files: list[str]) -> list[str]:
    return sorted(file for file in files if "/" not in file and _NOTES.match(file) and file.lower().endswith(_MARKDOWN))


def _spelled(codes: list[str]) -> tuple[list[str], dict[str, str]]:
    """Return language codes with hyphens, and the ``lang_map`` for those written with an underscore."""
    return [code.replace("_", "-") for code in codes], {code: code.replace("_", "-") for code in codes if "_" in code}

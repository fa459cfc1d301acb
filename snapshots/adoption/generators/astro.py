"""Astro: the collections of its configuration, those below ``src/content/``, and Markdown pages in ``src/pages/``."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from snapshots.adoption.configured.globbed import globbed
from snapshots.adoption.configured.objects import inside, objects_after, plain_program, without_inner
from snapshots.adoption.configured.programs import texts_after
from snapshots.adoption.configured.setting import Setting, text_of
from snapshots.adoption.data import of_file
from snapshots.adoption.folders import is_markdown
from snapshots.adoption.generator import Generator, LeftOut
from snapshots.adoption.languages import Spoken, main_first
from snapshots.adoption.shortcodes import ALERTS, STATEMENTS
from snapshots.adoption.site import Collection, Site, in_folder, literal, spelled

_BASE = "src/content/"
_PAGES = "src/pages/"
_UNDERSCORE = "Astro leaves out names that begin with _"
_CONFIGURATION = ("src/content.config.*", "src/content/config.*")
_OF_STARLIGHT = "**/[^_]*.{md,mdx,markdown,mdown,mkdn,mkd,mdwn}"
_MAIN = Setting(
    ("astro.config.*",),
    r"\broot[\"']?\s*:\s*\{[^{}]*?\blang:\s*[\"'`]([^\"'`]+)",
)
_DEFAULT = Setting(("astro.config.*",), r"\bdefaultLocale:\s*[\"'`]([^\"'`]+)")
_LOCALES = (
    Setting(("astro.config.*",), r"\blocales:\s*\[([^\]]*)\]"),
    Setting(
        ("astro.config.*",),
        r"[\"']?\b([a-z]{2,3}(?:-\w+)*)[\"']?\s*:\s*\{\s*(?:label|lang|dir)\b",
    ),
)


class _Loaded(msgspec.Struct, frozen=True):
    """A collection, as the configuration defines it."""

    name: str
    base: str | None = None
    """The folder in which a loader looks for files, with a slash at the end; ``None`` without such a loader."""
    patterns: tuple[str, ...] = ()
    file: str | None = None
    """The file that a loader reads."""
    unclear: str = ""
    """What a program computes, or which other loader there is."""

    @property
    def is_by_name(self) -> bool:
        """Whether it is the folder of its name in ``src/content/``."""
        return self.base is None and self.file is None and not self.unclear


def _loaded(root: Path) -> list[_Loaded]:
    """Return the collections in the configuration of the site at ``root``, as far as they are written out."""
    found = [path for pattern in _CONFIGURATION for path in sorted(root.glob(pattern))]
    if not found:
        return []
    program = plain_program(text_of(found[0]))
    made: dict[str, _Loaded] = {}
    names = dict(_names(program))
    for match in re.finditer(r"(?:([\w$]+|[\"'][^\"']+[\"'])\s*[:=]\s*)?\bdefineCollection\s*\(", program):
        said = (match[1] or "").strip("\"'")
        name = names.get(said, said)
        if name:
            made[name] = _collection(program, inside(program, match.end() - 1), name)
    return list(made.values())


def _names(program: str) -> Iterator[tuple[str, str]]:
    """Return the names under which the configuration gives collections, by those of its variables."""
    for _, text in objects_after(program, r"\bcollections\s*="):
        for key, value in re.findall(r"([\"']?[\w$-]+[\"']?)\s*(?::\s*([\w$]+))?\s*(?=,|$)", without_inner(text)):
            plain = key.strip("\"'")
            yield value or plain, plain


def _collection(program: str, text: str, name: str) -> _Loaded:
    if re.search(r"\bdocsLoader\s*\(", text):
        return _Loaded(name, f"{_BASE}docs/", (_OF_STARLIGHT,))
    globs = re.search(r"\bglob\s*\(\s*(?=\{)", text)
    if globs is not None:
        options = inside(text, globs.end())
        patterns, is_whole = texts_after(program, "pattern", options)
        base, is_known = _base(program, options)
        if patterns and base is not None:
            unclear = "" if is_whole and is_known else f"the 'glob()' of {name} in src/content.config"
            return _Loaded(name, base, tuple(patterns), unclear=unclear)
        return _Loaded(name, unclear=f"the 'glob()' of {name} in src/content.config")
    file = re.search(r"\bfile\s*\(\s*[\"'`]([^\"'`]+)", text)
    if file is not None:
        return _Loaded(name, file=posixpath.normpath(file[1]))
    if re.search(r"\bloader\s*:", text) and "i18nLoader" not in text:
        return _Loaded(name, unclear=f"the 'loader' of {name} in src/content.config")
    return _Loaded(name)


def _base(program: str, options: str) -> tuple[str | None, bool]:
    """Return the folder of a loader's files, with a slash at the end, and whether that is clear."""
    url = re.search(r"\bbase\s*:\s*new\s+URL\(\s*[\"'`]([^\"'`]+)", options)
    if url is not None:
        return _inner(posixpath.join("src", url[1])), True
    if not re.search(r"\bbase\s*:|[{,]\s*base\s*[,}]", f"{{{options}}}"):
        return "", True
    texts, is_whole = texts_after(program, "base", options)
    return (_inner(texts[0]), is_whole) if texts else (None, False)


def _inner(path: str) -> str | None:
    """Return a folder of the site with a slash at the end; ``None`` for one outside."""
    plain = posixpath.normpath(path.removeprefix("/"))
    return None if plain.startswith("..") else "" if plain == "." else f"{plain}/"


def _read(root: Path, files: list[str]) -> Site | None:
    """Return what an Astro site holds; ``None`` without a collection."""
    spoken = ASTRO.spoken(root) or Spoken()
    collections, languages = list[Collection](), list[str]()
    loaded = {one.name: one for one in _loaded(root)}
    for one in loaded.values():
        if one.base is not None and (named := globbed(one.name, one.base, [*one.patterns], files, spoken)) is not None:
            collections.append(named[0])
            languages += named[1]
        data = of_file(root, one.file) if one.file in files else None
        if data is not None:
            data.name = one.name
            collections.append(data)
    for name, mine in _by_name(files, loaded).items():
        made, found = in_folder(name, f"{_BASE}{name}/", mine, spoken)
        collections.append(made)
        languages += found
    pages = [file for file in files if file.startswith(_PAGES) and is_markdown(file)]
    if pages:
        made, found = in_folder("pages", _PAGES, pages, spoken)
        collections.append(made)
        languages += found
    main = [spoken.main] if spoken.main else []
    codes, lang_map = spelled(main_first([*main, *languages] or ["en"], *main))
    return Site("Astro", codes, collections, lang_map, main_is_known=bool(main))


def _by_name(files: list[str], loaded: dict[str, _Loaded]) -> dict[str, list[str]]:
    """Return the files of the folders of ``src/content/`` that are collections by their names."""
    bases = tuple(one.base for one in loaded.values() if one.base)
    below = [file for file in files if file.startswith(_BASE) and file.count("/") > 2]
    found: dict[str, list[str]] = {}
    for file in below:
        name = file.split("/")[2]
        if (name not in loaded or loaded[name].is_by_name) and not file.startswith(bases):
            found.setdefault(name, []).append(file)
    return found


def _left_out(root: Path, files: list[str]) -> Iterator[LeftOut]:
    """Return what no page is made of, and no collection by its folder's name has."""
    pages = f"{_PAGES}**/"
    loaded = {one.name: one for one in _loaded(root)}
    for start in (pages, *(f"{_BASE}{literal(name)}/**/" for name in _by_name(files, loaded))):
        yield LeftOut(f"{start}_*/**", _UNDERSCORE)
        yield LeftOut(f"{start}_*", _UNDERSCORE)


def _folders(root: Path) -> dict[str, str]:
    """Return the folders of the content, each with the folder at which its pages are by custom."""
    return {_PAGES: "", _BASE: ""} | {one.base: f"{one.name}/" for one in _loaded(root) if one.base}


ASTRO = Generator(
    name="Astro",
    in_utc=True,
    known_by=("astro.config.*",),
    content=(_BASE, _PAGES),
    content_of=_folders,
    more_left_out=_left_out,
    computed=lambda root: [one.unclear for one in _loaded(root) if one.unclear],
    main_language=(_MAIN, _DEFAULT),
    language_settings=_LOCALES,
    read=_read,
    tags=ALERTS | STATEMENTS,
)

"""The plugins of a Docusaurus site that read content: each with its folders, and what it leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from snapshots.adoption.configured.objects import inside, objects_after, plain_program, without_inner
from snapshots.adoption.configured.programs import texts_after
from snapshots.adoption.configured.setting import text_of

FILES: Final = ("docusaurus.config.*",)
_PATHS: Final = {"docs": "docs", "blog": "blog", "pages": "src/pages"}
_ROUTES: Final = {"docs": "docs", "blog": "blog", "pages": ""}
_PLUGIN: Final = re.compile(
    r"(?<!from )(?<!import\()[\"'`](?:@docusaurus/)?(?:plugin-)?content-(docs|blog|pages)[\"'`]"
)
_OPTIONS: Final = re.compile(r"\s*\)?\s*,\s*(?=\{)")


class Folder(msgspec.Struct, frozen=True):
    """A folder of content. Folders end with a slash."""

    path: str
    place: str
    """Where in the site its pages are."""
    translated: str
    """The folder of its translations, with ``{lang}`` in it."""
    include: tuple[str, ...] | None
    """The patterns of the files that it consists of, where the configuration says them."""
    exclude: tuple[str, ...] | None
    """The patterns of those that are left out; ``None``: as by default."""


class Content(msgspec.Struct, frozen=True):
    """All content of a site."""

    folders: tuple[Folder, ...]
    switched_off: tuple[str, ...]
    """Folders that plugins would read if the configuration did not switch them off."""
    unclear: tuple[str, ...]
    """Lists that a program computes."""
    outside: tuple[str, ...]
    """Folders of content that lie outside of the site."""


class _Plugin(msgspec.Struct, frozen=True):
    kind: str
    options: str
    """The text of its options, without what stands in braces inside."""
    whole: str
    program: str

    def text(self, key: str, otherwise: str) -> str:
        texts, _ = texts_after(self.program, key, self.options)
        return texts[0] if texts else otherwise

    def texts(self, key: str) -> tuple[str, ...] | None:
        """Return the texts of a list; ``None`` where the options have none that is written out."""
        texts, _ = texts_after(self.program, key, self.options)
        return tuple(texts) if texts or re.search(rf"\b{key}\s*:\s*\[\s*\]", self.options) else None

    def path_of(self, version: str, otherwise: str) -> str:
        """Return the part of the addresses that tells a version of docs."""
        for _, versions in objects_after(self.whole, r"\bversions\s*:"):
            for _, options in objects_after(versions, rf"[\"']?{re.escape(version)}[\"']?\s*:"):
                texts, _ = texts_after(self.program, "path", options)
                return texts[0].strip("/") if texts else otherwise
        return otherwise

    def says(self, key: str) -> bool | None:
        found = re.search(rf"\b{key}\s*:\s*(true|false)\b", self.options)
        return None if found is None else found[1] == "true"


def docusaurus_content(root: Path) -> Content:
    """Return what the configuration of the site at ``root`` says of its content, as far as it is written out."""
    found = [path for pattern in FILES for path in sorted(root.glob(pattern))]
    program = plain_program(text_of(found[0])) if found else ""
    plugins, off = _plugins(program)
    folders, unclear = dict[str, Folder](), list[str]()
    for plugin in plugins:
        for folder in _folders(root, plugin):
            folders.setdefault(folder.path, folder)
        _, is_whole = texts_after(program, "exclude", plugin.options)
        unclear += [] if is_whole else [f"'exclude' of {plugin.kind} in {found[0].name}"]
    unread = [f"{path}/" for kind, path in _PATHS.items() if kind in off]
    away = [path for path in (*unread, *_left_current(root, plugins)) if path not in folders]
    paths = [plugin.text("path", _PATHS[plugin.kind]) for plugin in plugins]
    outside = [path for path in paths if _inner(path) is None]
    return Content(tuple(folders.values()), tuple(away), tuple(unclear), tuple(outside))


def _plugins(program: str) -> tuple[list[_Plugin], set[str]]:
    """Return the plugins, and the kinds of those of the preset that are switched off."""
    given = next((text for _, text in objects_after(program, r"\bpresets[\"']?\s*:")), None)
    made = []
    for match in _PLUGIN.finditer(program):
        options = _OPTIONS.match(program, match.end())
        text = inside(program, options.end()) if options is not None else ""
        made.append(_Plugin(match[1], without_inner(text), text, program))
    off = {kind for kind in _PATHS if re.search(rf"\b{kind}[\"']?\s*:\s*false\b", program if given is None else given)}
    if given is not None or not made:
        for kind in [kind for kind in _PATHS if kind not in off]:
            text = _options_of(program, given or "", kind)
            made.append(_Plugin(kind, without_inner(text), text, program))
    return made, off


def _options_of(program: str, preset: str, kind: str) -> str:
    found = next(objects_after(preset, rf"\b{kind}[\"']?\s*:"), None)
    if found is not None:
        return found[1]
    named = re.search(rf"\b{kind}[\"']?\s*:\s*([A-Za-z_$][\w$]*)", preset)
    name = named[1] if named is not None else kind if re.search(rf"[{{,]\s*{kind}\s*[,}}]", preset) else None
    return next((text for _, text in objects_after(program, rf"\b{name}\b[^=;]*=")), "") if name is not None else ""


def _folders(root: Path, plugin: _Plugin) -> Iterator[Folder]:
    path = _inner(plugin.text("path", _PATHS[plugin.kind]))
    if path is None:
        return
    route = plugin.text("routeBasePath", _ROUTES[plugin.kind]).strip("/")
    place = f"{route}/" if route else ""
    name = plugin.text("id", "default")
    ending = "" if name == "default" else f"-{name}"
    translated = f"i18n/{{lang}}/docusaurus-plugin-content-{plugin.kind}{ending}/"
    include, exclude = plugin.texts("include"), plugin.texts("exclude")
    if plugin.kind != "docs":
        yield Folder(path, place, translated, include, exclude)
        return
    names, latest = _versions(root, plugin)
    for version in names:
        by_default = "" if version == latest else "next" if version == "current" else version
        at = f"{place}{plugin.path_of(version, by_default)}/".replace("//", "/")
        folder = path if version == "current" else f"{_before(name)}versioned_docs/version-{version}/"
        inner = "current" if version == "current" else f"version-{version}"
        yield Folder(folder, at, f"{translated}{inner}/", include, exclude)


def _versions(root: Path, plugin: _Plugin) -> tuple[list[str], str]:
    """Return the versions of docs that are built, and the one that is shown without a version in its addresses."""
    listed = text_of(root / f"{_before(plugin.text('id', 'default'))}versions.json")
    names = re.findall(r"\"([^\"]+)\"", listed) if plugin.says("disableVersioning") is not True else []
    every = [*(["current"] if plugin.says("includeCurrentVersion") is not False or not names else []), *names]
    only = plugin.texts("onlyIncludeVersions")
    every = [name for name in every if only is None or name in only]
    latest = plugin.text("lastVersion", next((name for name in every if name != "current"), "current"))
    return every, latest


def _left_current(root: Path, plugins: list[_Plugin]) -> Iterator[str]:
    """Return the folders of docs whose current version is in no site."""
    for plugin in plugins:
        if plugin.kind == "docs" and "current" not in _versions(root, plugin)[0]:
            path = _inner(plugin.text("path", _PATHS["docs"]))
            yield from [] if path is None else [path]


def _before(name: str) -> str:
    return "" if name == "default" else f"{name}_"


def _inner(path: str) -> str | None:
    """Return a folder of the site with a slash at the end; ``None`` for one outside."""
    plain = path.removeprefix("./").strip("/")
    return None if ".." in plain.split("/") or path.startswith("/") else f"{plain}/" if plain not in ("", ".") else ""

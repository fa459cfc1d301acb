"""Docusaurus: what its plugins of docs, blogs and pages read, in all versions and languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from snapshots.adoption.configured.globs import either, javascript_glob
from snapshots.adoption.configured.setting import Setting
from snapshots.adoption.docusaurus.configuration import FILES, Folder, docusaurus_content
from snapshots.adoption.folders import is_markdown
from snapshots.adoption.generator import Generator, LeftOut
from snapshots.adoption.shortcodes import ALERTS, STATEMENTS
from snapshots.adoption.site import literal

_BY_DEFAULT = (
    LeftOut("**/_*/**", "Docusaurus leaves out names that begin with _"),
    LeftOut("**/_*", "Docusaurus leaves out names that begin with _"),
    LeftOut("**/__tests__/**", "Docusaurus leaves out tests"),
)
_NAMED = "the configuration of Docusaurus leaves them out"
_SWITCHED_OFF = "the configuration of Docusaurus switches off what reads them"
_NOT_INCLUDED = "the configuration of Docusaurus does not include them"
_NO_ORIGINAL = "Docusaurus makes no pages of translations whose original it does not read"


def _left_out(root: Path, files: list[str]) -> Iterator[LeftOut]:
    """Return what each plugin leaves out, by default or as configured, and translations that translate nothing."""
    content = docusaurus_content(root)
    yield from (LeftOut(f"{literal(path)}**", _SWITCHED_OFF) for path in content.switched_off)
    for folder in content.folders:
        rules = (
            _BY_DEFAULT
            if folder.exclude is None
            else [LeftOut(one.removeprefix("./"), _NAMED) for written in folder.exclude for one in either(written)]
        )
        for rule in rules:
            yield LeftOut(f"{literal(folder.path)}{rule.pattern}", rule.why)
            yield LeftOut(f"{folder.translated.replace('{lang}', '*')}{rule.pattern}", rule.why)
        originals = {file.removeprefix(folder.path) for file in files if file.startswith(folder.path)}
        yield from _not_included(folder, files)
        translated = re.compile(re.escape(folder.translated).replace(re.escape("{lang}"), "[^/]+") + "(.+)")
        for file in filter(is_markdown, files):
            match = translated.fullmatch(file)
            if match is not None and match[1] not in originals:
                yield LeftOut(literal(file), _NO_ORIGINAL)


def _not_included(folder: Folder, files: list[str]) -> Iterator[LeftOut]:
    if folder.include is not None:
        included = [javascript_glob(pattern) for pattern in folder.include]
        for file in files:
            inside = file.removeprefix(folder.path)
            if file.startswith(folder.path) and not any(one.fullmatch(inside) for one in included):
                yield LeftOut(literal(file), _NOT_INCLUDED)


def _notes(root: Path) -> Iterator[str]:
    for path in docusaurus_content(root).outside:
        yield f"content comes from {path} too, outside of this folder: no API reads it"


DOCUSAURUS = Generator(
    name="Docusaurus",
    dated_names=("blog/",),
    titles_by_heading=True,
    ids_are_names=True,
    understood=("draft", "unlisted"),
    in_utc=True,
    known_by=FILES,
    content=("docs/", "blog/", "src/pages/"),
    content_of=lambda root: {one.path: one.place for one in docusaurus_content(root).folders},
    addresses=("/docs/{path}", "/blog/{year}/{month}/{day}/{name}", "/blog/{slug}"),
    main_language=(Setting(FILES, r"\bdefaultLocale:\s*[\"'`]([^\"'`]+)"),),
    language_settings=(Setting(FILES, r"\blocales:\s*\[([^\]]*)\]"),),
    translated=lambda root: {one.path: one.translated for one in docusaurus_content(root).folders},
    data=False,
    more_left_out=_left_out,
    computed=lambda root: docusaurus_content(root).unclear,
    notes=_notes,
    tags=ALERTS | STATEMENTS,
)

"""Nuxt Content: the folders below ``content/``, as far as collections take their files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from snapshots.adoption.configured.globbed import named_by
from snapshots.adoption.configured.globs import either
from snapshots.adoption.configured.objects import inside, objects_after, plain_program, without_inner
from snapshots.adoption.configured.programs import texts_after
from snapshots.adoption.configured.setting import Listed, Setting, text_of
from snapshots.adoption.generator import Generator, LeftOut
from snapshots.adoption.site import literal

_CONFIGURATION: Final = ("nuxt.config.*", "content.config.*")
_COLLECTIONS: Final = ("content.config.*",)
_BASE: Final = "content/"
_VERSION: Final = Setting(("package.json",), r"\"@nuxt/content\"\s*:\s*\"[^\"\d]*(\d+)")
_PARTIAL: Final = "Nuxt Content 2 makes no pages of names that begin with _ or -"
_DRAFT: Final = "their names say that they are drafts"
_NOT_TAKEN: Final = "no collection in content.config takes them"
_NAMED: Final = "the configuration of Nuxt Content leaves them out"


class _Source(msgspec.Struct, frozen=True):
    """What a collection takes."""

    include: tuple[str, ...]
    exclude: tuple[str, ...]


def _sources(root: Path) -> tuple[list[_Source], list[str]] | None:
    """Return the sources of all collections that lie in ``content/``, and what a program computes of them; ``None``
    without a configuration of collections."""
    found = [path for pattern in _COLLECTIONS for path in sorted(root.glob(pattern))]
    if not found:
        return None
    program = plain_program(text_of(found[0]))
    sources, unclear = list[_Source](), list[str]()
    for match in re.finditer(r"\bdefineCollection\s*\(", program):
        text = inside(program, match.end() - 1)
        stated = re.search(r"\bsource\s*:\s*(?=[\"'`{\[])", text)
        if stated is None:
            unclear.append(f"a 'source' in {found[0].name}")
            continue
        at = stated.end()
        whole = inside(text, at) if text[at] in "{[" else ""
        objects = [whole] if text[at] == "{" else [one for _, one in objects_after(whole, "")]
        plain = without_inner(whole) if text[at] == "[" else "" if whole else f"source: {text[at:]}"
        texts, _ = (
            texts_after(program, "source", plain) if not whole else (re.findall(r"[\"'`]([^\"'`]+)", plain), True)
        )
        sources += [_Source((one,), ()) for one in texts]
        for one in objects:
            included, is_clear = texts_after(program, "include", one)
            excluded, is_whole = texts_after(program, "exclude", one)
            is_local = not re.search(r"\b(?:cwd|repository)\s*:", one)
            sources += [_Source(tuple(included), tuple(excluded))] if is_local else []
            unclear += [] if is_clear and is_whole else [f"a 'source' in {found[0].name}"]
    return sources, unclear


def _left_out(root: Path, files: list[str]) -> Iterator[LeftOut]:
    """Return what the version of Nuxt Content leaves out, and what no collection takes."""
    said = _sources(root)
    version = next(map(int, _VERSION.values(root)), 2 if said is None else 3)
    yield LeftOut(f"{_BASE}**/*.draft.*", _DRAFT)
    if version < 3:
        yield from (LeftOut(f"{_BASE}{one}", _PARTIAL) for one in ("**/_*/**", "**/_*", "**/-*/**", "**/-*"))
    if said is None or said[1]:
        return
    taken: set[str] = set()
    for one in said[0]:
        taken.update(named_by([*one.include, *(f"!{pattern}" for pattern in one.exclude)], _BASE, files))
    mine = [file for file in files if file.startswith(_BASE)]
    for pattern in dict.fromkeys(pattern for one in said[0] for pattern in one.exclude):
        if taken.isdisjoint(named_by([pattern], _BASE, mine)):
            yield from (LeftOut(f"{_BASE}{each}", _NAMED) for each in either(pattern))
    for folder in sorted({file.removeprefix(_BASE).partition("/")[0] for file in mine if file.count("/") > 1}):
        if not any(file.startswith(f"{_BASE}{folder}/") for file in taken):
            yield LeftOut(f"{_BASE}{literal(folder)}/**", _NOT_TAKEN)
    yield from (LeftOut(literal(file), _NOT_TAKEN) for file in mine if file not in taken)


NUXT = Generator(
    name="Nuxt Content",
    titles_by_heading=True,
    understood=("draft", "published"),
    in_utc=True,
    known_by=_CONFIGURATION,
    content=(_BASE,),
    sections=True,
    main_language=(Setting(_CONFIGURATION, r"\bdefaultLocale:\s*[\"'`]([^\"'`]+)"),),
    language_settings=(
        Setting(_CONFIGURATION, r"\blocales:\s*\[\s*([\"'`][^\]]*)\]"),
        Setting(_CONFIGURATION, r"\bcode:\s*[\"'`]([^\"'`]+)"),
    ),
    left_out_settings=(Listed(("nuxt.config.*",), ("ignores", "exclude")),),
    more_left_out=_left_out,
    computed=lambda root: (_sources(root) or ([], []))[1],
)

"""What a content file's path says: the rules of every API, from its ``source`` patterns or the default names.

What the format page leaves open is settled so: a file gives versions to an API by the first pattern that
matches; without ``{id}`` in it, the ID comes from ``$name``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from snapshots.definitions.model import ApiSource, Definitions
from snapshots.definitions.patterns import Pattern, compile_pattern
from snapshots.model import Api


class Name(NamedTuple):
    """What a path says."""

    lang: str | None
    id: str | None
    parts: dict[str, str]
    name: str


class Rule(msgspec.Struct, frozen=True):
    """One pattern of one API, or one of its default sources."""

    api: Api
    walk: Pattern
    read: Callable[[str, str], Name | None]
    """(path without ``.draft``, extension) → what it says, ``None`` when it is none of the API's."""


class Rules(msgspec.Struct, frozen=True):
    """All of one API's rules, the first that matches a file wins."""

    api: Api
    rules: tuple[Rule, ...]
    unknown: tuple[Pattern, ...]
    """The patterns with ``{lang}`` taking any language: what only these match is in an unknown one."""


def rules_of(definitions: Definitions) -> list[Rules]:
    """The rules of every API, in the workspace's order."""
    languages = definitions.workspace.languages
    return [_rules(api, definitions.sources[api.uid], languages) for api in definitions.workspace.apis]


def _rules(api: Api, source: ApiSource, languages: tuple[str, ...]) -> Rules:
    known = {written: lang for written, lang in source.lang_map.items() if lang in languages}
    known |= {lang: known.get(lang, lang) for lang in languages}
    if not source.patterns:
        folder = compile_pattern(f"content/{api.endpoint}/**", known)
        beside = compile_pattern("content/*", known)
        return Rules(api, (Rule(api, folder, _in_folder(known)), Rule(api, beside, _beside(api, known))), ())
    rules, unknown = [], []
    for text in source.patterns:
        anything = compile_pattern(text, known, others=True)
        rules.append(Rule(api, anything, _by_pattern(compile_pattern(text, known), known)))
        if "lang" in anything.names:
            unknown.append(anything)
    return Rules(api, tuple(rules), tuple(unknown))


def _without_language(stem: str, known: dict[str, str]) -> tuple[str, str | None]:
    """``hello.en`` → ``hello`` and the language, where it is one that is known."""
    name, dot, written = stem.rpartition(".")
    if dot and name and written in known:
        return name, known[written]
    return stem, None


def _in_folder(known: dict[str, str]) -> Callable[[str, str], Name | None]:
    """``content/<endpoint>/**/<id>[.<lang>][.draft].<ext>``."""

    def read(path: str, extension: str) -> Name:
        name, lang = _without_language(_stem(path), known)
        return Name(lang, None if extension == "jsonl" else name, {}, name)

    return read


def _beside(api: Api, known: dict[str, str]) -> Callable[[str, str], Name | None]:
    """``content/<endpoint>[.<lang>][.draft].<ext>``: many versions of a list, or an object (decision 39)."""

    def read(path: str, extension: str) -> Name | None:
        name, lang = _without_language(_stem(path), known)
        if name != api.endpoint or (extension == "md" and api.kind == "list"):
            return None
        return Name(lang, None, {}, name)

    return read


def _by_pattern(pattern: Pattern, known: dict[str, str]) -> Callable[[str, str], Name | None]:
    match = pattern.whole.fullmatch

    def read(path: str, extension: str) -> Name | None:
        found = match(path)
        if found is None:
            return None
        parts = found.groupdict()
        written = parts.pop("lang", None)
        name = _stem(path)
        if written is not None:
            name = name.removesuffix(f".{written}")
        entry_id = None if extension == "jsonl" else parts.get("id") or parts.get("name") or name
        return Name(None if written is None else known[written], entry_id, parts, name)

    return read


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]

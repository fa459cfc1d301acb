"""The facts in a content file's path: the rules of every API, from its ``source`` patterns or the default names.

Points that the format page leaves open: a file gives versions to an API by the first pattern that
matches; if the pattern has no ``{id}``, the ID comes from ``$name``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from snapshots.definitions.model import ApiSource, Definitions
from snapshots.definitions.patterns import Pattern, alternatives, parse_pattern
from snapshots.documents.document import Format
from snapshots.model import Api


class Name(NamedTuple):
    """The facts in a path."""

    lang: str | None
    id: str | None
    parts: dict[str, str]
    name: str


class SourceRule(msgspec.Struct, frozen=True):
    """One pattern of one API, or one of its default sources."""

    api: Api
    walk: Pattern
    read: Callable[[str, Format], Name | None]
    """Returns the facts in a path, given the path without ``.draft`` and the file's format; ``None`` if the rule does
    not match."""
    number: int | None = None
    """The pattern's position in ``source``; ``None`` for a default source."""


class SourceRules(msgspec.Struct, frozen=True):
    """The rules of one API; the first that matches a file holds."""

    api: Api
    rules: tuple[SourceRule, ...]
    unknown: tuple[Pattern, ...]
    """The patterns with any language in place of ``{lang}``: a path that only these match is in an unknown language."""
    source: tuple[str, ...] = ()
    """The patterns as the definition has them."""
    excludes: tuple[Pattern, ...] = ()
    """The patterns of files that the API leaves out."""

    def leaves_out(self, path: str) -> bool:
        """Return whether the API leaves a file out."""
        return any(pattern.whole.fullmatch(path) for pattern in self.excludes)

    def patterns_over(self, path: str) -> list[str]:
        """Return the patterns by which the API leaves out all files below a directory."""
        everything = f"{path}/-"  # a pattern that ends with ** matches any name
        trees = (pattern for pattern in self.excludes if pattern.is_tree)
        return [pattern.text for pattern in trees if pattern.whole.fullmatch(everything)]


def rules_of(definitions: Definitions) -> list[SourceRules]:
    """Return the rules of every API, in the workspace's order."""
    languages = definitions.workspace.languages
    return [_rules(api, definitions.sources[api.uid], languages) for api in definitions.workspace.apis]


def _rules(api: Api, source: ApiSource, languages: tuple[str, ...]) -> SourceRules:
    known = {written: lang for written, lang in source.lang_map.items() if lang in languages}
    known |= {lang: known.get(lang, lang) for lang in languages}
    excludes = tuple(parse_pattern(text, known, others=True) for text in source.exclude)
    if not source.patterns:
        folder = parse_pattern(f"content/{api.endpoint}/**", known)
        beside = parse_pattern("content/*", known)
        return SourceRules(
            api,
            (SourceRule(api, folder, _in_folder(known)), SourceRule(api, beside, _beside(api, known))),
            (),
            (),
            excludes,
        )
    rules, unknown = [], []
    for number, pattern in enumerate(source.patterns):
        for text in alternatives(pattern):
            anything = parse_pattern(text, known, others=True)
            rules.append(SourceRule(api, anything, _by_pattern(parse_pattern(text, known), known), number))
            if "lang" in anything.names:
                unknown.append(anything)
    return SourceRules(api, tuple(rules), tuple(unknown), source.patterns, excludes)


def _without_language(stem: str, known: dict[str, str]) -> tuple[str, str | None]:
    """Split ``hello.en`` into ``hello`` and a known language; without one, return the stem and ``None``."""
    name, dot, written = stem.rpartition(".")
    if dot and name and written in known:
        return name, known[written]
    return stem, None


def _in_folder(known: dict[str, str]) -> Callable[[str, Format], Name | None]:
    """Return the reader of ``content/<endpoint>/**/<id>[.<lang>][.draft].<ext>``."""

    def read(path: str, form: Format) -> Name:
        name, lang = _without_language(_stem(path), known)
        return Name(lang, None if form is Format.JSONL else name, {}, name)

    return read


def _beside(api: Api, known: dict[str, str]) -> Callable[[str, Format], Name | None]:
    """Return the reader of ``content/<endpoint>[.<lang>][.draft].<ext>``: many versions, or an object (decision 39)."""

    def read(path: str, form: Format) -> Name | None:
        name, lang = _without_language(_stem(path), known)
        if name != api.endpoint or (form is Format.MARKDOWN and api.kind == "list"):
            return None
        return Name(lang, None, {}, name)

    return read


def _by_pattern(pattern: Pattern, known: dict[str, str]) -> Callable[[str, Format], Name | None]:
    match = pattern.whole.fullmatch

    def read(path: str, form: Format) -> Name | None:
        found = match(path)
        if found is None:
            return None
        parts = found.groupdict()
        written = parts.pop("lang", None)
        name = _stem(path)
        if written is not None:
            name = name.removesuffix(f".{written}")
        entry_id = None if form is Format.JSONL else parts.get("id") or parts.get("name") or name
        return Name(None if written is None else known[written], entry_id, parts, name)

    return read


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]

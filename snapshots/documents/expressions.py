"""Compile a ``from:``, ``meta:`` or ``id:`` expression into the function that reads its value from a document.

Five forms (workspace-format, "apis/*.yaml" and "Sources"):

- ``title``              a key of the document; ``bio.en`` reads inside a mapping
- ``$body`` ``$name`` ``$path`` ``$section``   the Markdown text, the file's stem, its path, a named part of the pattern
- ``$heading``           the words of the Markdown text's first heading of level 1
- ``{year}-{month}``     a template over named parts and the document's own keys; ``{a|b}``: the first with a value;
  ``{date} || {year}-{month}``: the first of the templates that are complete
- ``title.{lang}``       a key path in which ``{lang}`` is the language of the version
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

import msgspec

from snapshots.documents.document import ContentDocument, Plain, RawValue, is_missing, is_null
from snapshots.documents.headings import first_heading

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


class FileFacts(msgspec.Struct, frozen=True):
    """The facts an expression may read besides the document: the file's path, and the version's language."""

    path: str
    name: str
    """The file's stem without language and ``.draft``."""
    parts: Mapping[str, str]
    lang: str
    lang_spellings: tuple[str, ...]
    """The language as the workspace spells it, then as the files do (``lang_map``)."""


Read = Callable[[ContentDocument, FileFacts], RawValue]


class Expression(msgspec.Struct, frozen=True):
    """A parsed expression."""

    read: Read
    keys: frozenset[str]
    """The document's top-level keys that the expression reads."""
    key: str | None = None
    """The key to point at when the value is wrong, where there is one."""
    below: tuple[str, ...] = ()
    """The keys below ``key`` that lead to the value."""
    by_language: bool = False
    """True of an expression with ``{lang}``: one document then gives a version in each language it has."""
    inner: frozenset[tuple[str, str]] = frozenset()
    """(top-level key, key inside it) of an expression that reads inside a mapping."""


def parse_expression(text: str, *, languages: tuple[str, ...], fallback_key: str | None = None) -> Expression:
    """Parse an expression.

    ``languages`` are all spellings ``{lang}`` can take; ``fallback_key`` is the key that ``$body`` reads in a
    document without Markdown text (decision 41).
    """
    if text == "$body":
        return _body(fallback_key)
    if text == "$heading":
        return Expression(lambda document, _file_facts: _heading(document), frozenset())
    if text == "$path":
        return Expression(lambda _document, file_facts: file_facts.path, frozenset())
    if text == "$value":
        return Expression(_whole, frozenset())
    if text == "$key":
        return Expression(lambda document, file_facts: _as_written(_key(document, file_facts)), frozenset())
    if text.startswith("$"):
        part = text[1:]
        return Expression(lambda _document, file_facts: _as_written(_part(part, file_facts)), frozenset())
    if not text:  # switched off
        return Expression(lambda _document, _file_facts: None, frozenset())
    if "{" not in text:
        return _path(text)
    if set(_PLACEHOLDER.findall(text)) == {"lang"}:
        return _path_by_language(text, languages)
    alternatives = text.split(" || ")
    return _first(
        [parse_expression(one, languages=languages) if one.startswith("$") else _template(one) for one in alternatives]
    )


def _first(templates: list[Expression]) -> Expression:
    if len(templates) == 1:
        return templates[0]

    def read(document: ContentDocument, file_facts: FileFacts) -> RawValue:
        return next((value for one in templates if (value := one.read(document, file_facts)) is not None), None)

    return Expression(read, frozenset().union(*(one.keys for one in templates)))


def _heading(document: ContentDocument) -> str | None:
    return None if document.body is None else first_heading(document.body)


def _body(fallback_key: str | None) -> Expression:
    def read(document: ContentDocument, _file_facts: FileFacts) -> RawValue:
        if document.body is not None:
            return document.body
        return document.values.get(fallback_key) if fallback_key else None

    return Expression(read, frozenset({fallback_key} if fallback_key else ()), fallback_key)


def _whole(document: ContentDocument, file_facts: FileFacts) -> RawValue:
    """Return the whole item of a collection; in other documents, the part of the path called ``value``."""
    return document.value if document.value is not None else _as_written(_part("value", file_facts))


def _key(document: ContentDocument, file_facts: FileFacts) -> str | None:
    """Return the key of an item of a mapping; in other documents, the part of the path called ``key``."""
    return document.key if document.key is not None else _part("key", file_facts)


def _path(text: str) -> Expression:
    if "." not in text:
        return Expression(lambda document, _file_facts: document.values.get(text), frozenset({text}), text)
    first, second, *more = text.split(".")
    return Expression(
        lambda document, _file_facts: _inside(document.values, text),
        frozenset({text, first}),
        first,
        (second, *more),
        inner=frozenset({(first, second)}),
    )


def _path_by_language(text: str, languages: tuple[str, ...]) -> Expression:
    def read(document: ContentDocument, file_facts: FileFacts) -> RawValue:
        found = [_inside(document.values, text.replace("{lang}", one)) for one in file_facts.lang_spellings]
        written = [one for one in found if not is_null(one)]
        return next((one for one in written if not is_missing(one)), written[0] if written else None)

    steps = [text.replace("{lang}", lang).split(".") for lang in languages]
    firsts = {path[0] for path in steps}
    inner = frozenset((path[0], path[1]) for path in steps if len(path) > 1)
    key = None if text.startswith("{lang}") else text.partition(".")[0]
    return Expression(read, frozenset(firsts), key, by_language=True, inner=inner)


def partly_read(expressions: Iterable[Expression]) -> dict[str, frozenset[str]]:
    """Return the inner keys that are read of each top-level key whose whole value is never read."""
    every = list(expressions)
    inside: dict[str, set[str]] = {}
    for first, second in {pair for expression in every for pair in expression.inner}:
        inside.setdefault(first, set()).add(second)
    whole = {key for expression in every if not expression.inner for key in expression.keys}
    return {key: frozenset(names) for key, names in inside.items() if key not in whole}


def _inside(values: Mapping[str, RawValue], path: str) -> RawValue:
    """Return the value at a dotted path; a key that contains the dots itself wins."""
    if path in values:
        return values[path]
    here: RawValue = values  # type: ignore[assignment]  # a mapping of raw values is a raw value
    for step in path.split("."):
        if not isinstance(here, dict) or step not in here:
            return None
        here = here[step]
    return here


def _template(text: str) -> Expression:
    pieces = _PLACEHOLDER.split(text)
    choices = [tuple(piece.split("|")) for piece in pieces[1::2]]

    def read(document: ContentDocument, file_facts: FileFacts) -> RawValue:
        filled = [pieces[0]]
        for names, literal in zip(choices, pieces[2::2], strict=True):
            value = next((v for name in names if (v := _named(name, document, file_facts)) is not None), None)
            if value is None:
                return None
            filled += (value, literal)
        return _as_written("".join(filled))

    keys = frozenset(name.partition(".")[0] for names in choices for name in names)
    return Expression(read, keys)


def _as_written(text: str | None) -> RawValue:
    """Return a text as an unquoted scalar, whose meaning its field decides; one that would read as null stays text."""
    if text is None or is_null(Plain(text)):
        return text
    return Plain(text)


def _part(name: str, file_facts: FileFacts) -> str | None:
    """Return a named part of the path. ``name`` is the file's stem, unless the pattern has a part of that name."""
    return file_facts.parts.get(name, file_facts.name if name == "name" else None)


def _named(name: str, document: ContentDocument, file_facts: FileFacts) -> str | None:
    """Return a placeholder's text: a named part of the path, the language, a scalar of the document, or at last, for
    ``name``, the file's stem."""
    if name in file_facts.parts:
        return file_facts.parts[name]
    if name == "lang":
        return file_facts.lang
    value = _inside(document.values, name)
    if is_missing(value) or isinstance(value, (list, dict, bool)):
        return _key(document, file_facts) if name == "key" else _part(name, file_facts)
    return str(value)

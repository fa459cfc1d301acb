"""Divide a document that holds a collection, as a list or a mapping keyed by ID, into a document for each item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from snapshots.documents.document import ContentDocument, LineTree, RawValue, is_null, item_name
from snapshots.documents.publicity import plainly_keeps_back
from snapshots.documents.yaml_reader import describe
from snapshots.problems import Problems

Steps = tuple[str | int, ...]

ALL_BELOW: Final = "**"
"""The last of the keys that lead to a collection, where its items are all values below, at any depth."""

LANGUAGE_KEY: Final = "{lang}"
"""Stands, among the keys that lead to a collection, for a key that is the language of the items below."""


def read_collection(
    file: str, documents: Iterable[ContentDocument], steps: tuple[str, ...], problems: Problems
) -> Iterator[ContentDocument]:
    """Return the items of the collection that stands at the keys ``steps`` of each document.

    An item that is a mapping gives its keys as values; any item can be read whole as ``$value``, and its key in a
    mapping as ``$key``. Keys around a collection belong to no item, but may keep all back. The items of a list file
    are returned as they are if ``steps`` is empty. If the last step is ``ALL_BELOW``, the items are all values that
    are no mappings, each under the keys on its way, joined by ``.``.
    """
    nested = steps[-1:] == (ALL_BELOW,)
    steps = steps[:-1] if nested else steps
    for document in documents:
        if document.item is not None and not steps and not nested:
            document.value = document.values
            yield document
            continue
        yield from _items(file, document, steps, nested, problems)


def _items(
    file: str, document: ContentDocument, steps: tuple[str, ...], nested: bool, problems: Problems
) -> Iterator[ContentDocument]:
    for place in _places(file, document, steps, problems):
        yield from _items_at(file, document, place, nested, problems)


class _Place(NamedTuple):
    """A collection in a document."""

    value: RawValue
    steps: Steps
    """The keys that lead to it."""
    lang: str | None
    """The language that one of these keys names."""
    kept_back_by: tuple[str, ...]


def _places(file: str, document: ContentDocument, steps: tuple[str, ...], problems: Problems) -> Iterator[_Place]:
    """Return the collections to which ``steps`` lead, or report where they lead nowhere."""
    places = [_Place(dict(document.values), (), None, ())]
    for step in steps:
        further = list[_Place]()
        for here, path, lang, kept_back_by in places:
            is_language = step == LANGUAGE_KEY
            if not isinstance(here, dict) or (step not in here and not is_language):
                where = "$" + "".join(f".{name}" for name in path)
                message = f"there is no key {step!r} in {where}, which 'from' of the definition leads to"
                line, item = document.line_of(*path), item_name(document.item)
                problems.error(file, line, "no-collection", message, item=item)
                continue
            for key in list(here) if is_language else [step]:
                back = (
                    *kept_back_by,
                    *(one for one, raw in here.items() if one != key and plainly_keeps_back(one, raw)),
                )
                further.append(_Place(here[key], (*path, key), key if is_language else lang, back))
        places = further
    yield from places


def _items_at(
    file: str, document: ContentDocument, place: _Place, nested: bool, problems: Problems
) -> Iterator[ContentDocument]:
    here, steps, lang, kept_back_by = place
    if is_null(here) and lang is not None:
        return  # a language without a text so far
    pairs: Iterable[tuple[Steps, RawValue]]
    if isinstance(here, dict):
        pairs = _leaves(here) if nested else (((key,), value) for key, value in here.items())
    elif isinstance(here, list) and not nested:
        pairs = (((at,), value) for at, value in enumerate(here))
    else:
        expected = "a mapping" if nested else "a list, or a mapping keyed by ID"
        message = f"expected {expected}, got {describe(here)}"
        problems.error(file, document.line_of(*steps), "no-collection", message, item=item_name(document.item))
        return
    has_lines = document.lines is not None
    for below, value in pairs:
        path, first = (*steps, *below), below[0]
        yield ContentDocument(
            value if isinstance(value, dict) else {},
            document.line_of(*path) if has_lines else document.line,
            None,
            first if isinstance(first, int) else None,
            document.broken,
            _below(document, path) if has_lines else None,
            None if isinstance(first, int) else ".".join(map(str, below)),
            value,
            kept_back_by,
            lang,
        )


def _leaves(mapping: dict[str, RawValue]) -> Iterator[tuple[Steps, RawValue]]:
    """Return the values inside a mapping that are no mappings, with the keys that lead to them."""
    for key, value in mapping.items():
        if isinstance(value, dict):
            yield from (((key, *below), leaf) for below, leaf in _leaves(value))
        else:
            yield (key,), value


def _below(document: ContentDocument, path: Steps) -> Callable[[], LineTree | None]:
    """Return the function that finds the lines inside a value of a document."""

    def find() -> LineTree | None:
        document.line_of()
        here = document.lines
        for step in path:
            here = here.inside.get(step) if isinstance(here, LineTree) and here.inside is not None else None
        return here if isinstance(here, LineTree) else None

    return find

"""A document that holds a collection, as a list or as a mapping keyed by ID → a document for each of its items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from snapshots.documents.document import Document, LineTree, RawValue
from snapshots.documents.yaml_reader import describe
from snapshots.problems import Problems

Steps = tuple[str | int, ...]


def read_collection(
    file: str, documents: Iterable[Document], steps: tuple[str, ...], problems: Problems
) -> Iterator[Document]:
    """Return the items of the collection that stands at the keys ``steps`` of each document.

    An item that is a mapping gives its keys as values; any item can be read whole as ``$value``, and its key in a
    mapping as ``$key``. The items of a list file are returned as they are if ``steps`` is empty.
    """
    for document in documents:
        if document.item is not None and not steps:
            document.value = document.values
            yield document
            continue
        yield from _items(file, document, steps, problems)


def _items(file: str, document: Document, steps: tuple[str, ...], problems: Problems) -> Iterator[Document]:
    here: RawValue = dict(document.values)
    for at, step in enumerate(steps):
        if not isinstance(here, dict) or step not in here:
            where = "$" + "".join(f".{name}" for name in steps[:at])
            message = f"there is no key {step!r} in {where}, which 'from' of the definition leads to"
            problems.error(file, document.line_of(*steps[:at]), "no-collection", message)
            return
        here = here[step]
    pairs: Iterable[tuple[str | int, RawValue]]
    if isinstance(here, dict):
        pairs = here.items()
    elif isinstance(here, list):
        pairs = enumerate(here)
    else:
        message = f"expected a list, or a mapping keyed by ID, got {describe(here)}"
        problems.error(file, document.line_of(*steps), "no-collection", message)
        return
    has_lines = document.lines is not None
    for key, value in pairs:
        path = (*steps, key)
        yield Document(
            value if isinstance(value, dict) else {},
            document.line_of(*path) if has_lines else document.line,
            None,
            None if isinstance(key, str) else key,
            document.broken,
            _below(document, path) if has_lines else None,
            str(key) if isinstance(key, str) else None,
            value,
        )


def _below(document: Document, path: Steps) -> Callable[[], LineTree | None]:
    """Return the function that finds the lines inside a value of a document."""

    def find() -> LineTree | None:
        document.line_of()
        here = document.lines
        for step in path:
            here = here.inside.get(step) if isinstance(here, LineTree) and here.inside is not None else None
        return here if isinstance(here, LineTree) else None

    return find

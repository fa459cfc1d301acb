"""Give the keys of a document the names that its definition has now, so that files need not all change at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from snapshots.documents.document import ContentDocument, LineTree, RawValue
from snapshots.model import GROUP_KIND, Field

Both = Callable[[tuple[str | int, ...], tuple[str | int, ...]], None]
"""Called with the ways to the old and to the new key of one field, where a document has both."""


class RenamedKeys(msgspec.Struct, frozen=True):
    """The new names of the keys of a mapping, and of the keys inside its values."""

    names: dict[str, str]
    """The new name by the old one."""
    inside: dict[str, dict[str, RenamedKeys]]
    """By key, then by the kind of the group that the value is; ``""`` for every value."""

    def __bool__(self) -> bool:
        return bool(self.names or self.inside)

    def renamed(self, document: ContentDocument, both: Both) -> None:
        """Rename the keys of a document. ``both`` is called where it has an old key beside the new one, which stay."""
        values, moved = self._renamed(document.values, (), both)
        if values is document.values:
            return
        lines = document.lines() if callable(document.lines) else document.lines
        document.lines = _moved(lines, moved)
        document.values = values

    def _renamed(
        self, values: dict[str, RawValue], way: tuple[str | int, ...], both: Both
    ) -> tuple[dict[str, RawValue], _Moved]:
        """Return the mapping with new keys, the same one where there is nothing to rename, and what moved in it."""
        names = {}
        for old, new in self.names.items():
            if old in values and new in values:
                both((*way, old), (*way, new))
            elif old in values:
                names[old] = new
        moved = _Moved(names)
        found = {names.get(key, key): value for key, value in values.items()} if names else values
        for key, kinds in self.inside.items():
            if key in found:
                value, below = _inside(found[key], kinds, (*way, key), both)
                if value is not found[key]:
                    found = {**found, key: value}
                    moved.inside[key] = below
        return found, moved


class _Moved(msgspec.Struct):
    """The keys of a mapping that have new names, and those inside its values or the items of a list."""

    names: dict[str, str] = {}
    inside: dict[str | int, _Moved] = {}


def _inside(
    value: RawValue, kinds: Mapping[str, RenamedKeys], way: tuple[str | int, ...], both: Both
) -> tuple[RawValue, _Moved]:
    if isinstance(value, list):
        moved = _Moved()
        items = list(value)
        for at, item in enumerate(value):
            items[at], below = _inside(item, kinds, (*way, at), both)
            if items[at] is not item:
                moved.inside[at] = below
        return (items if moved.inside else value), moved
    if isinstance(value, dict):
        kind = kinds.get("") or kinds.get(str(value.get(GROUP_KIND)))
        if kind is not None:
            return kind._renamed(value, way, both)
    return value, _Moved()


def _moved(lines: LineTree | None, moved: _Moved) -> LineTree | None:
    """Return the lines under the new names."""
    if lines is None or lines.inside is None:
        return lines
    inside: dict[Any, LineTree] = {}
    for key, below in lines.inside.items():
        name = moved.names.get(key, key) if isinstance(key, str) else key
        inside[name] = _moved(below, moved.inside[name]) or below if name in moved.inside else below
    return LineTree(lines.line, inside)


def renamed_keys(fields: Iterable[Field], expressions: Mapping[str, str]) -> RenamedKeys:
    """Return the new names of the keys that an API's fields are read from, by field ID in ``expressions``."""
    result = RenamedKeys({}, {})
    for field in fields:
        expression = expressions.get(field.id, field.id)
        key = field.id if expression == "$body" else expression
        if isinstance(field.renamed_from, str):
            result.names[field.renamed_from] = key
            *above, last = key.split(".")
            here = result
            for step in above:
                here = here.inside.setdefault(step, {}).setdefault("", RenamedKeys({}, {}))
            if above:
                here.names[field.renamed_from.rpartition(".")[2]] = last
        kinds = {kind.id: renamed_keys(kind.fields, {}) for kind in field.kinds}
        if any(kinds.values()):
            here = result
            *above, last = key.split(".")
            for step in above:
                here = here.inside.setdefault(step, {}).setdefault("", RenamedKeys({}, {}))
            here.inside.setdefault(last, {}).update(kinds)
    return result

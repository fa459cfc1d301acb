"""The relations of a Directus template: what each field that leads somewhere leads to, and by which table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from snapshots.importers.reading.shapes import at, listed, text


class Relation(msgspec.Struct, frozen=True):
    """A field of rows that holds the key of a row elsewhere."""

    collection: str
    field: str
    target: str
    """The collection led to; empty where each row says it."""
    inverse: str = ""
    """The field of the target that lists these rows."""
    junction: str = ""
    """Of a table between two others: its field that leads to the other one."""
    sort: str = ""
    targets: tuple[str, ...] = ()
    """Where each row says the collection: those allowed."""
    target_field: str = ""
    """Where each row says the collection: the field that does."""


class Relations:
    """Finds relations by either side."""

    def __init__(self, relations: Sequence[Mapping[str, Any]], fields: Sequence[Mapping[str, Any]]) -> None:
        self._own: dict[tuple[str, str], Relation] = {}
        self._inverse: dict[tuple[str, str], Relation] = {}
        for one in relations:
            allowed = at(one, "meta", "one_allowed_collections")
            made = Relation(
                text(one.get("collection")),
                text(one.get("field")),
                text(one.get("related_collection")),
                text(at(one, "meta", "one_field")),
                text(at(one, "meta", "junction_field")),
                text(at(one, "meta", "sort_field")),
                tuple(text(name) for name in (allowed.split(",") if isinstance(allowed, str) else listed(allowed))),
                text(at(one, "meta", "one_collection_field")),
            )
            self._own[made.collection, made.field] = made
            if made.inverse:
                self._inverse[made.target, made.inverse] = made
        for one in fields:  # a template may lack relations.json's row for what the schema of a field says
            collection, field = text(one.get("collection")), text(one.get("field"))
            target = text(at(one, "schema", "foreign_key_table"))
            if target and (collection, field) not in self._own:
                self._own[collection, field] = Relation(collection, field, target)

    def of(self, collection: str, field: str) -> Relation | None:
        """Return the relation that a field of a collection holds."""
        return self._own.get((collection, field))

    def listing(self, collection: str, field: str) -> Relation | None:
        """Return the relation whose rows a field of a collection lists."""
        return self._inverse.get((collection, field))

    def across(self, relation: Relation) -> Relation | None:
        """Return the other relation of a table between two others."""
        return self._own.get((relation.collection, relation.junction)) if relation.junction else None

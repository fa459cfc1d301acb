"""Turn the rows of Directus into values of fields, with their related rows, translations, files and references."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from snapshots.importers.kinds.directus.fields import FILES, Model, Type
from snapshots.importers.kinds.directus.relations import Relation, Relations
from snapshots.importers.kinds.directus.rows import ExportRows
from snapshots.importers.model import FieldPlan
from snapshots.importers.reading.shapes import at, listed, mappings, text
from snapshots.model import FieldType


class Values:
    """Makes rows into values."""

    def __init__(self, model: Model, relations: Relations, rows: ExportRows) -> None:
        self._model, self._relations, self._rows = model, relations, rows

    def translations(self, made: Type) -> dict[str, list[tuple[str, Mapping[str, Any]]]]:
        """Return (language, values) of the translations of a collection's rows, by the key of the row."""
        table = self._model.translations_of(made)
        found: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
        if table is None:
            return found
        for row in self._rows.of(table.collection):
            found.setdefault(_ref(row.get(table.field)), []).append((_ref(row.get(table.junction)), row))
        return found

    def related(self, made: Type) -> dict[str, dict[str, list[Any]]]:
        """Return, for each field that lists rows elsewhere, what it lists by the key of a row."""
        found = {}
        for field in made.plans:
            listing = self._relations.listing(made.collection, field)
            if listing is not None:
                found[field] = self._listing(listing)
        return found

    def _listing(self, listing: Relation) -> dict[str, list[Any]]:
        across, key = self._relations.across(listing), self._model.key(listing.collection)
        found: dict[str, list[tuple[float, Any]]] = {}
        for row in self._rows.of(listing.collection):
            parent, position = _ref(row.get(listing.field)), row.get(listing.sort) if listing.sort else None
            if across is None:
                value: Any = {"api": self._model.endpoint(listing.collection), "id": text(row.get(key))}
            elif across.target == FILES:
                value = row.get(across.field)
            else:
                target = across.target or text(row.get(across.target_field))
                value = {"api": self._model.endpoint(target), "id": _ref(row.get(across.field))}
            if parent and value:
                found.setdefault(parent, []).append(
                    (float(position) if isinstance(position, (int, float)) else 0.0, value)
                )
        return {parent: [one for _, one in sorted(many, key=lambda pair: pair[0])] for parent, many in found.items()}

    def values(
        self,
        made: Type,
        row: Mapping[str, Any],
        related: Mapping[str, Mapping[str, list[Any]]],
        number: str,
        where: str,
    ) -> dict[str, Any]:
        """Return the values of a row, by field ID."""
        values: dict[str, Any] = {}
        for field, plan in made.plans.items():
            raw = related[field].get(number, []) if field in related else row.get(field)
            if plan.type in (FieldType.IMAGE, FieldType.IMAGES, FieldType.FILE) or (plan.groups and field in related):
                records = [one for item in listed(raw) if (one := self._rows.record(item, where)) is not None]
                raw = [{"file": one} for one in records] if plan.groups else records
            elif plan.is_reference:
                raw = [one for one in (_reference(item) for item in listed(raw)) if one]
            elif plan.type is FieldType.MULTIPLE_SELECT and isinstance(raw, str):
                raw = [one for one in raw.split(",") if one]
            elif plan.is_group:
                raw = [_renamed(one, plan) for one in mappings(raw)]
            values[plan.id] = raw
        return values


def _reference(raw: Any) -> Any:
    if isinstance(raw, Mapping) and "api" in raw:
        return raw if raw["api"] and raw["id"] else None
    return _ref(raw)


def _ref(raw: Any) -> str:
    """Return the key of a row that another one leads to, whether it stands alone or with the whole row."""
    return text(at(raw, "id") or at(raw, "code")) if isinstance(raw, Mapping) else text(raw)


def _renamed(group: Mapping[str, Any], plan: FieldPlan) -> dict[str, Any]:
    ids = {one.name: one.id for one in plan.groups[0].fields}
    return {ids.get(name, name): value for name, value in group.items()}

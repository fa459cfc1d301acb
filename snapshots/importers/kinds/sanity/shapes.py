"""Derive fields from the values of Sanity documents, whose schema is not in an export.

What a value is follows from its own form, mostly from its ``_type``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from snapshots.importers.kinds.sanity.portable_text import is_portable_text
from snapshots.importers.losses import Losses
from snapshots.importers.model import FieldPlan, GroupPlan
from snapshots.importers.names import field_ids
from snapshots.importers.reading.shapes import text
from snapshots.model import FieldType

MAX_DEPTH = 30

_DATE_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:Z|[+-][0-9]{2}:[0-9]{2}))?"
)
_LONG = 200
_PLAIN = {
    "number": FieldType.NUMBER,
    "boolean": FieldType.BOOLEAN,
    "rich": FieldType.RICHTEXT,
    "reference": FieldType.REFERENCE,
    "image": FieldType.IMAGE,
    "file": FieldType.FILE,
    "object": FieldType.GROUP,
}


class TypeShape(msgspec.Struct):
    """The common shape of the values of one field."""

    forms: set[str] = msgspec.field(default_factory=set)
    is_long: bool = False
    is_date: bool = True
    targets: set[str] = msgspec.field(default_factory=set)
    """The types of the documents that references lead to."""
    items: TypeShape | None = None
    """Of arrays: their items."""
    groups: dict[str, dict[str, TypeShape]] = msgspec.field(default_factory=dict)
    """Of objects: by type, by key."""

    def note(self, value: Any, kind_of: Callable[[str], str | None], depth: int = 0) -> None:
        """Note a value. ``kind_of`` gives the type of a document by its ID."""
        form = form_of(value) if depth < MAX_DEPTH else "json"
        if form is None:
            return
        self.forms.add(form)
        if form == "text":
            plain = text(value if isinstance(value, str) else value.get("current"))
            self.is_long = self.is_long or "\n" in plain or len(plain) > _LONG
            self.is_date = self.is_date and _DATE_TIME.fullmatch(plain) is not None
        elif form == "reference":
            found = kind_of(text(value.get("_ref")))
            self.targets |= {found} if found is not None else set()
        elif form == "list":
            self.items = self.items or TypeShape()
            for item in value:
                self.items.note(item, kind_of, depth + 1)
        elif form == "object":
            inside = self.groups.setdefault(text(value.get("_type")), {})
            for key, one in value.items():
                if not key.startswith("_"):
                    inside.setdefault(key, TypeShape()).note(one, kind_of, depth + 1)


def form_of(value: Any) -> str | None:
    """Return the name of the form that a value has; ``None`` for null."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, list):
        return "rich" if is_portable_text(value) else "list"
    if not isinstance(value, Mapping):
        return "json"
    kind, asset = text(value.get("_type")), text(value.get("_sanityAsset"))
    if kind == "slug":
        return "text"
    if kind in ("image", "file") or asset.startswith(("image@", "file@")):
        return "image" if kind == "image" or asset.startswith("image@") else "file"
    if isinstance(value.get("_ref"), str):
        return "reference"
    return "json" if kind in ("geopoint", "geojson", "color") else "object"


class SchemaField(msgspec.Struct):
    """A field to define, and what to make of its values."""

    plan: FieldPlan
    shape: TypeShape
    inside: dict[str, dict[str, SchemaField]] = {}
    """Of groups: by type, by key."""


def fields_of(
    shapes: Mapping[str, TypeShape], where: str, names: Mapping[str, str], losses: Losses, depth: int = 0
) -> dict[str, SchemaField]:
    """Return the fields of documents or objects, by key. ``names`` has the endpoints by type of document."""
    known = {key: shape for key, shape in shapes.items() if shape.forms}
    ids = field_ids(known, in_group=depth > 0)
    fields = {}
    for key, shape in known.items():
        if ids[key] != key:
            losses.add(where, f"the field ID {key}", f"it is reserved or in use already: it is now {ids[key]}")
        fields[key] = _field(FieldPlan(ids[key], FieldType.JSON), shape, f"{where}.{key}", names, losses, depth)
    return fields


def _field(
    plan: FieldPlan, shape: TypeShape, where: str, names: Mapping[str, str], losses: Losses, depth: int
) -> SchemaField:
    made = SchemaField(plan, shape)
    form = next(iter(shape.forms)) if len(shape.forms) == 1 else ""
    items = shape.items or TypeShape()
    if shape.forms == {"rich", "list"} and items.forms <= {"image", "file"}:
        form = "rich"  # a text of pictures alone has no block
    inner = next(iter(items.forms)) if len(items.forms) == 1 else ""
    if form == "text":
        plan.type = FieldType.DATETIME if shape.is_date else FieldType.TEXTAREA if shape.is_long else FieldType.TEXT
    elif form in _PLAIN:
        plan.type = _PLAIN[form]
    elif form == "list" and inner == "text":
        plan.type = FieldType.MULTIPLE_SELECT
    elif form == "list" and inner == "reference":
        plan.type = FieldType.REFERENCES
    elif form == "list" and inner == "image":
        plan.type = FieldType.IMAGES
    elif form == "list" and inner == "file":
        plan.type, plan.groups = FieldType.GROUPS, [GroupPlan("", "", [FieldPlan("file", FieldType.FILE)])]
    elif form == "list" and (inner == "object" or not items.forms):
        plan.type = FieldType.GROUPS
    elif len(shape.forms) > 1 or len(items.forms) > 1:
        losses.add(where, "the type of a field", "its values have several forms: they are now JSON")
    if plan.is_reference:
        targets = shape.targets | items.targets
        plan.apis = [endpoint for kind, endpoint in names.items() if kind in targets]
    if plan.type in (FieldType.GROUP, FieldType.GROUPS) and not plan.groups:
        _groups(made, shape if form == "object" else items, where, names, losses, depth)
    return made


def _groups(
    made: SchemaField, shape: TypeShape, where: str, names: Mapping[str, str], losses: Losses, depth: int
) -> None:
    kinds = shape.groups
    if made.plan.type is FieldType.GROUP and len(kinds) > 1:
        merged: dict[str, TypeShape] = {}
        for inside in kinds.values():
            for key, one in inside.items():
                if key in merged and merged[key].forms != one.forms:
                    merged[key].forms |= {"json", "text"}
                merged.setdefault(key, one)
        kinds = {"": merged}
    ids = field_ids(kinds, in_group=True)
    for kind, inside in kinds.items():
        fields = fields_of(inside, f"{where}.{kind}" if kind else where, names, losses, depth + 1)
        made.inside[kind] = fields
        plans = [one.plan for one in fields.values()]
        made.plan.groups.append(GroupPlan("" if len(kinds) == 1 else ids[kind], kind, plans))

"""Compare how values are written with the forms that an editor's widgets can open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from snapshots.documents.document import RawValue, is_missing, is_null


def fits(widget: Mapping[str, Any], value: RawValue) -> bool:
    """Return whether a widget can open a value. The editors take no single value for a list, and no text for an object;
    Decap CMS does not open such an entry, and Sveltia CMS does not save it."""
    if is_missing(value):
        return True
    if _is_list(widget):
        return isinstance(value, list) and all(_fits_item(widget, item) for item in value)
    if widget["widget"] == "object":
        return isinstance(value, dict) and _fits_members(widget, value)
    return not isinstance(value, (list, dict))


def empty_text(widget: Mapping[str, Any], value: RawValue) -> tuple[str, ...] | None:
    """Return the way to the first empty text in a value, of those that need not be there; ``None`` where there is none.

    Null is no text. The value is one that the widget can open.
    """
    if value == "" and not is_null(value) and widget["widget"] in ("string", "text"):
        return None if widget.get("required", True) else ()
    for one in value if isinstance(value, list) else [value]:
        members = widget.get("fields", ())
        if "types" in widget and isinstance(one, dict):
            members = next(kind["fields"] for kind in widget["types"] if kind["name"] == one[widget["typeKey"]])
        for member in members:
            below = empty_text(member, one[member["name"]]) if isinstance(one, dict) and member["name"] in one else None
            if below is not None:
                return (member["name"], *below)
    return None


def form_of(widget: Mapping[str, Any]) -> str:
    """Return the words for the form of the values that a widget opens."""
    if _is_list(widget):
        return "a list of mappings" if "fields" in widget or "types" in widget else "a list"
    return "a mapping" if widget["widget"] == "object" else "one value"


def _is_list(widget: Mapping[str, Any]) -> bool:
    return widget["widget"] == "list" or bool(widget.get("multiple"))


def _fits_item(widget: Mapping[str, Any], item: RawValue) -> bool:
    if is_missing(item):
        return True
    if "types" in widget:
        kinds = {kind["name"]: kind for kind in widget["types"]}
        kind = kinds.get(str(item.get(widget["typeKey"]))) if isinstance(item, dict) else None
        return kind is not None and fits(kind, item)
    if "fields" in widget:
        return isinstance(item, dict) and _fits_members(widget, item)
    return fits(widget["field"], item) if "field" in widget else not isinstance(item, (list, dict))


def _fits_members(widget: Mapping[str, Any], value: Mapping[str, RawValue]) -> bool:
    return all(fits(field, value[field["name"]]) for field in widget["fields"] if field["name"] in value)

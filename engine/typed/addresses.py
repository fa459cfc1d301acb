"""Find the fields in which addresses of the server's files stand, for clients that make them absolute."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from msgspec import UNSET

from engine.typed.names import targets_of
from snapshots.model import REFERENCE_TYPES, Field, FieldType, ValueKind, Workspace


def places_of_addresses(workspace: Workspace) -> dict[str, dict[str, Any]]:
    """Return the fields of each API that can hold addresses, by endpoint, as the clients' text explains them.

    A field is ``"file"`` (an object with an address), ``"html"``, ``{"by": …}`` (groups, by the IDs of their kinds) or
    ``{"entry": …}`` (entries of that endpoint; ``None`` where each names its own).
    """
    found: dict[str, dict[str, Any]] = {}
    while True:  # an API may hold addresses only in entries it refers to
        places = {api.endpoint: _places(api.fields, workspace, found) for api in workspace.apis}
        known = {endpoint: fields for endpoint, fields in places.items() if fields}
        if known == found:
            return found
        found = known


def _places(fields: Iterable[Field], workspace: Workspace, known: Collection[str]) -> dict[str, Any]:
    places = {field.id: _holding(field, workspace, known) for field in fields}
    return {field: holding for field, holding in places.items() if holding is not None}


def _holding(field: Field, workspace: Workspace, known: Collection[str]) -> str | dict[str, Any] | None:
    if field.type.facts.kind is ValueKind.RECORD:
        return "file"
    if field.type is FieldType.RICHTEXT:
        return "html"
    if field.type in REFERENCE_TYPES:
        targets = [api.endpoint for api in targets_of(field, workspace) if api.endpoint in known]
        return {"entry": None if field.targets is not UNSET else targets[0]} if targets else None
    kinds = {kind.id: _places(kind.fields, workspace, known) for kind in field.kinds}
    return {"by": kinds} if any(kinds.values()) else None

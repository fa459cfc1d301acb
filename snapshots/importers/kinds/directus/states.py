"""Whether a Directus row is published: the fields that say so, and what becomes of the others.

Only what every field calls published is live: nothing that the old site kept back gets out by an import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from snapshots.importers.reading.shapes import at, text
from snapshots.model import Status

_STATES = {"published": Status.PUBLISHED, "draft": Status.DRAFT, "scheduled": Status.SCHEDULED}
_OTHER = "only published and scheduled have a meaning here: the entry is a draft"

Tell = Callable[[str, str], None]
"""Called with what is lost, and why."""


class StateField(msgspec.Struct, frozen=True):
    """A field that says whether a row is published."""

    name: str
    archived: bool | None = None
    """The value of rows that are archived, or not published, of a field that is true or false."""


def state_fields(collection: Mapping[str, Any], facts: Iterable[Mapping[str, Any]]) -> tuple[StateField, ...]:
    """Return the fields of a collection that say whether a row is published: ``status``, and the one for archiving.

    Without a ``status``, ``published`` is one if it is true or false.
    """
    facts = list(facts)
    has_status = any(one.get("field") == "status" for one in facts)
    archive = text(at(collection, "meta", "archive_field"))
    archived = text(at(collection, "meta", "archive_value")) != "false"
    found = []
    for one in facts:
        name, is_boolean = text(one.get("field")), one.get("type") == "boolean"
        if name and name in ("status", archive):
            found.append(StateField(name, archived if is_boolean else None))
        elif name == "published" and is_boolean and not has_status:
            found.append(StateField(name, archived=False))
    return tuple(found)


def state(row: Mapping[str, Any], fields: Iterable[StateField], tell: Tell) -> Status:
    """Return the state of a row, the least public one of its fields; ``tell`` hears of a state that has no equal."""
    found = [_state(row.get(field.name), field, tell) for field in fields]
    return least_public(found)


def least_public(states: Iterable[Status]) -> Status:
    """Return the state of what several states apply to."""
    found = set(states)
    return next((one for one in (Status.DRAFT, Status.SCHEDULED) if one in found), Status.PUBLISHED)


def _state(value: Any, field: StateField, tell: Tell) -> Status:
    if field.archived is not None:
        if bool(value) is not field.archived:
            return Status.PUBLISHED
        kind = "a row that is not published" if field.name == "published" else "an archived row"
        tell(f"{kind} ({field.name!r})", _OTHER)
        return Status.DRAFT
    said = text(value)
    if said not in _STATES:
        tell(f"the status {said[:60]!r}" if said else "a missing status", _OTHER)
    return _STATES.get(said, Status.DRAFT)

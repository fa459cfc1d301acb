"""Walk a field's delivered value: the values inside its groups, and the references among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from snapshots.model import Api, Field, FieldPath, ValueKind, field_path
from snapshots.paths import Steps

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode = msgspec.json.Encoder().encode


def parts_of(path: FieldPath, value: Any, steps: Steps = ()) -> Iterator[tuple[Steps, FieldPath, Any]]:
    """Return a field's value and those inside its groups: the way to each from the first on, its field, and itself."""
    yield steps, path, value
    if path.field.type.facts.kind is not ValueKind.GROUP or value is None:
        return
    is_array = path.field.type.facts.is_array
    for at, one in enumerate(value) if is_array else [(None, value)]:
        kind = path.field.kind_of(one)
        there: Steps = steps if at is None else (*steps, at)
        for inner in path.of_kind(kind):
            yield from parts_of(inner, one.get(inner.field.id), (*there, inner.field.id))


def referred(path: FieldPath, value: Any) -> list[Any]:
    """Return the references in one reference field's value, each an ID or, to one of several APIs, an API and an ID."""
    if value is None:
        return []
    return value if path.field.type.facts.is_array else [value]


def delivered(api: Api, stored: str) -> bytes:
    """Return the JSON of an entry's fields as it is delivered: every reference as an ID alone."""
    members = _members(stored)
    for field in api.fields:
        if refers_to_several(field_path(field)):
            members[field.id] = msgspec.Raw(_encode(_delivered(field, msgspec.json.decode(members[field.id]))))
    return _encode(members)


def refers_to_several(path: FieldPath) -> bool:
    """Return whether a field, or one inside its groups, refers to several APIs."""
    return any(inner.field.targets is not msgspec.UNSET for inner in path.inside())


def _delivered(field: Field, value: Any) -> Any:
    if field.targets is not msgspec.UNSET:
        return [one["id"] if isinstance(one, dict) else one for one in value]
    if not field.kinds or value is None:
        return value
    if field.type.facts.is_array:
        return [_delivered_group(field, one) for one in value]
    return _delivered_group(field, value)


def _delivered_group(field: Field, value: dict[str, Any]) -> dict[str, Any]:
    return value | {inner.id: _delivered(inner, value[inner.id]) for inner in field.kind_of(value).fields}


class ReferenceCheck(msgspec.Struct, frozen=True):
    """The references of a field that are looked for in the same APIs."""

    path: FieldPath
    targets: tuple[str, ...]
    """``uid``s, of which one must have the entry."""
    api: str | None = None
    """The endpoint that the content names; ``None`` where it names none."""


def reference_checks(api: Api) -> tuple[ReferenceCheck, ...]:
    """Return what is checked of the references of an API, once all entries are known."""
    checks = []
    for path in api.references:
        uids = path.field.target_uids
        if all(uid is not None for uid in uids) and uids:
            checks.append(ReferenceCheck(path, tuple(uid for uid in uids if uid is not None)))
        if path.field.targets is not msgspec.UNSET:
            named = [one for one in path.field.targets if one.uid is not None]
            checks += [ReferenceCheck(path, (one.uid,), one.endpoint) for one in named if one.uid is not None]
    return tuple(checks)

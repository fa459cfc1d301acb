"""The names that all descriptions of a workspace share: of its types, and of the fields its queries may name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from engine.query.filters import RULES, Kind, MetaKind
from engine.query.plan import VIEWS
from snapshots.model import (
    IMAGE,
    META_DATES,
    RECORDS,
    SORTABLE_TYPES,
    Api,
    ApiKind,
    Field,
    FieldPath,
    FieldType,
    Record,
    Workspace,
)

JSON: Final = "Json"
"""The name of the type of any JSON."""
_ADDED: Final = ("Depth0", "Depth2", "Part", "List", "Field", "Order", "Condition", "Query")
"""The suffixes of the types beside an API's own."""


def type_names(workspace: Workspace, reserved: Collection[str]) -> dict[str, str]:
    """A name in PascalCase for the entries of each API, by the ``uid`` of the API: ``my-posts`` → ``MyPosts``.

    No name is in ``reserved``, and no two names, those of the types beside them included, are the same.
    """
    names: dict[str, str] = {}
    # Of two endpoints with one name in PascalCase, the shorter keeps it.
    for api in sorted(workspace.apis, key=lambda api: (len(api.endpoint), api.endpoint)):
        words = re.findall("[A-Za-z0-9]+", api.endpoint)
        name = "".join(word[0].upper() + word[1:] for word in words)
        if name[0].isdigit():
            name = f"Api{name}"
        number = 1
        chosen = name
        while chosen in reserved or any(_meet(chosen, other) for other in names.values()):
            number += 1
            chosen = f"{name}Api{number}"
        names[api.uid] = chosen
    return names


def _meet(one: str, other: str) -> bool:
    """Whether two names, or the types beside them, would be the same."""
    return bool({one, *(one + word for word in _ADDED)} & {other, *(other + word for word in _ADDED)})


def used_records(workspace: Workspace) -> list[Record]:
    """The records whose types a description of the workspace needs; that of images was always there."""
    used = {path.field.type.facts.record for api in workspace.apis for path in api.every_field()}
    return [record for record in RECORDS if record is IMAGE or record in used]


def uses_json(workspace: Workspace) -> bool:
    """Whether values may be any JSON."""
    return any(path.field.type is FieldType.JSON for api in workspace.apis for path in api.every_field())


def targets_of(field: Field, workspace: Workspace) -> list[Api]:
    """The APIs that a field refers to, those that are there."""
    return [api for uid in field.target_uids if uid is not None and (api := workspace.api_by_uid(uid)) is not None]


def expands(fields: Iterable[FieldPath], workspace: Workspace) -> bool:
    """Whether values of some fields, or those inside their groups, look otherwise at another depth."""
    return any(targets_of(inner.field, workspace) for path in fields for inner in path.inside())


def one_line(text: str) -> str:
    """A name that people wrote, on one line, for a comment."""
    return " ".join(text.split())


def order_keys(api: Api) -> tuple[str, ...]:
    """The sort keys of an API (contract 4.5)."""
    return (*META_DATES, VIEWS, *(field.id for field in api.fields if field.type in SORTABLE_TYPES))


def selectable(api: Api) -> tuple[str, ...]:
    """The IDs that ``fields`` may name beside ``id``, which always comes (contract 4.9)."""
    return (*META_DATES, *(field.id for field in api.fields))


def lists(workspace: Workspace) -> list[Api]:
    return [api for api in workspace.apis if api.kind is ApiKind.LIST]


def objects(workspace: Workspace) -> list[Api]:
    return [api for api in workspace.apis if api.kind is ApiKind.OBJECT]


@dataclass(frozen=True, slots=True)
class Conditions:
    """Fields that take the same operators with the same kind of value."""

    fields: tuple[str, ...]
    operators: tuple[str, ...]
    value: str | None
    """``text``, ``number`` or ``boolean``; ``None`` for operators without a value."""


def conditions(api: Api) -> list[Conditions]:
    """Every condition that ``filters`` may hold (contract 4.6)."""
    kinds: dict[str, Kind] = {
        "id": MetaKind.ID,
        **dict.fromkeys(META_DATES, MetaKind.DATE),
        **{field.id: field.type for field in api.fields},
    }
    grouped: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for field, kind in kinds.items():
        if operators := tuple(o for o in operators_of(kind) if not o.endswith("exists")):
            grouped.setdefault((operators, _value(kind)), []).append(field)
    found = [Conditions(tuple(fields), operators, value) for (operators, value), fields in grouped.items()]
    return [*found, Conditions(tuple(kinds), ("exists", "not_exists"), None)]


def operators_of(kind: Kind) -> tuple[str, ...]:
    """The operators that a kind of field takes."""
    return tuple(rule.operator for rule in RULES if kind in rule.kinds)


def _value(kind: Kind) -> str:
    return "number" if kind is FieldType.NUMBER else "boolean" if kind is FieldType.BOOLEAN else "text"

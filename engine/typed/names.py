"""The names that all descriptions of a workspace share: of its types, and of the fields its queries may name."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from engine.read.query.filters import RULES, Kind, MetaKind
from engine.read.query.plan import VIEWS
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
    ValueKind,
    Workspace,
)

JSON: Final = "Json"
"""The name of the type of any JSON."""
_FORMS: Final = {FieldType.RICHTEXT: "HTML.", FieldType.DATETIME: "ISO 8601 in UTC."}
_ADDED: Final = (
    "Depth0",
    "Depth2",
    "Part",
    "Selected",
    "List",
    "Field",
    "Order",
    "Condition",
    "Filters",
    "Query",
    "EntryQuery",
)
"""The suffixes of the types beside an API's own."""


def type_names(workspace: Workspace, reserved: Collection[str]) -> dict[str, str]:
    """Return a name in PascalCase for the entries of each API, by its ``uid``: ``MyPosts`` for ``my-posts``.

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
        while _meets(chosen, reserved) or any(_meets(chosen, _with_added(other)) for other in names.values()):
            number += 1
            chosen = f"{name}Api{number}"
        names[api.uid] = chosen
    return names


def _with_added(name: str) -> set[str]:
    """Return the name of an API's type, and of the types beside it."""
    return {name, *(name + word for word in _ADDED)}


def _meets(name: str, others: Collection[str]) -> bool:
    """Return whether a name, or that of a type beside it, is taken."""
    return any(one in others for one in _with_added(name))


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


def as_read(workspace: Workspace, scope: frozenset[str] | None) -> Workspace:
    """Return a workspace with only the APIs that a key's scope (``uid``s, ``None`` for all) lets the key read."""
    readable = tuple(api for api in workspace.apis if scope is None or api.uid in scope)
    return msgspec.structs.replace(workspace, apis=readable)


def stays_id(field: Field, workspace: Workspace) -> bool:
    """Return whether some references of a field are delivered as IDs at every depth: to APIs that are not there."""
    return any(uid is None or workspace.api_by_uid(uid) is None for uid in field.target_uids or (None,))


def expands(fields: Iterable[FieldPath], workspace: Workspace) -> bool:
    """Whether values of some fields, or those inside their groups, look otherwise at another depth."""
    return any(targets_of(inner.field, workspace) for path in fields for inner in path.inside())


def plain_type(field: Field, words: Mapping[ValueKind, str], literals: Callable[[Iterable[str]], str]) -> str:
    """Return the type of one value of a field that refers to no entry and is no group.

    ``words`` are the language's own types, ``literals`` writes the type of a value that is one of several texts.
    """
    facts = field.type.facts
    if facts.kind is ValueKind.OPTION and field.options:
        return literals(field.options)
    return JSON if facts.kind is ValueKind.JSON else facts.record.name if facts.record else words[facts.kind]


def query_languages(api: Api, workspace: Workspace) -> tuple[str, ...]:
    """Return the languages that an API can be asked for in: without multilingual support, the main one (contract 7)."""
    return workspace.languages if api.multilingual else workspace.languages[:1]


def description(thing: Api | Field) -> str:
    """Return what people wrote to explain an API or a field, on one line; empty where they did not."""
    return one_line(thing.description or "")


def about(field: Field) -> str:
    """Return the name of a field, its description, and the form of its values where the type does not tell it."""
    parts = (one_line(field.name), description(field), _FORMS.get(field.type, ""))
    ended = (part if part.endswith((".", "?", "!")) else f"{part}." for part in parts if part)
    return one_line(field.name) if not any(parts[1:]) else " ".join(ended)


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
class TypedConditions:
    """Fields that take the same operators with the same kind of value."""

    fields: tuple[str, ...]
    operators: tuple[str, ...]
    value: ValueKind | tuple[str, ...] | None
    """The kind of the value, or the texts that it may be; ``None`` for operators without a value."""


def conditions(api: Api) -> list[TypedConditions]:
    """Every condition that ``filters`` may hold (contract 4.6)."""
    kinds: dict[str, tuple[Kind, ValueKind | tuple[str, ...]]] = {
        "id": (MetaKind.ID, ValueKind.TEXT),
        **dict.fromkeys(META_DATES, (MetaKind.DATE, ValueKind.INSTANT)),
        **{field.id: (field.type, _value(field)) for field in api.fields},
    }
    grouped: dict[tuple[tuple[str, ...], ValueKind | tuple[str, ...]], list[str]] = {}
    for field, (kind, value) in kinds.items():
        if operators := tuple(o for o in operators_of(kind) if not o.endswith("exists")):
            grouped.setdefault((operators, value), []).append(field)
    found = [TypedConditions(tuple(fields), operators, value) for (operators, value), fields in grouped.items()]
    return [*found, TypedConditions(tuple(kinds), ("exists", "not_exists"), None)]


def operators_of(kind: Kind) -> tuple[str, ...]:
    """The operators that a kind of field takes."""
    return tuple(rule.operator for rule in RULES if kind in rule.kinds)


def _value(field: Field) -> ValueKind | tuple[str, ...]:
    """Return what a field is compared with: one of its options, an instant, a number, a boolean, or else a text."""
    kind = field.type.facts.kind
    if kind is ValueKind.OPTION and field.options:
        return field.options
    return kind if kind in (ValueKind.NUMBER, ValueKind.BOOLEAN, ValueKind.INSTANT) else ValueKind.TEXT

"""Make the OpenAPI 3.1 document of the service (contract 9): ``openapi.yaml``, with what is computed filled in."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from engine.described.answers import LANGUAGES
from engine.read.query.answers.feed import DEFAULT_CHANGES, MAX_CHANGES
from engine.read.query.answers.signals import LONGEST_TAGS
from engine.read.query.answers.view_counts import MAX_IDS, MAX_KEYS
from engine.read.query.filters import MAX_CHARACTERS, MAX_CONDITIONS, OPERATORS
from engine.read.query.parameters import MAX_DEPTH, MAX_FIELDS, MAX_LIMIT, MAX_OFFSET, MAX_ORDERS, MAX_PHRASE
from engine.timeline.changes import ChangeKind
from engine.typed.modules import Client
from engine.views.counting.counts import MAX_DAYS
from server.delivery.asset_delivery import MalformedRange, UnsatisfiableRange
from server.http.routes import NOTHING_HERE
from server.pictures.workshop import PicturesBusy
from snapshots.ids import ID_FORM
from snapshots.model import ARRAY_TYPES, GROUP_KIND, RECORDS, FieldType, Record
from snapshots.version import VERSION

Json = dict[str, Any]

JSON: Final = "application/json"
CATALOG_TYPE: Final = "application/linkset+json"
FIELD_ID: Final = "[A-Za-z][A-Za-z0-9_]{0,63}"

_FILE: Final = Path(__file__).with_name("openapi.yaml")
_SHARED: Final = "x-headers"
"""The member that only holds what others of the file repeat."""
_COMPUTED: Final = re.compile(r"\$\{([A-Z_]+)\}")


def service_document() -> Json:
    """Return the definition of the whole service, for any workspace."""
    document: Json = _filled(_written_document(), _values())
    return document


@cache
def _written_document() -> Json:
    """Return the document as the file has it. Reading it takes much longer than filling it in."""
    written: Json = yaml.load(_FILE.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - safe ones
    del written[_SHARED]
    return written


def ref(name: str, kind: str = "schemas") -> Json:
    """Return a reference to a component of the document."""
    return {"$ref": f"#/components/{kind}/{name}"}


def _values() -> dict[str, Any]:
    """Return what stands for ``${NAME}`` in the file: the limits are those of the code that reads requests."""
    return {
        "ARRAY_TYPES": ", ".join(f"`{one}`" for one in FieldType if one in ARRAY_TYPES),
        "CHANGE_KINDS": [kind.value for kind in ChangeKind],
        "DEFAULT_CHANGES": DEFAULT_CHANGES,
        "FIELD_TYPES": [one.value for one in FieldType],
        "GROUP_KIND": GROUP_KIND,
        "FIELD_ID": FIELD_ID,
        "ID_FORM": ID_FORM,
        "LONGEST_TAGS": LONGEST_TAGS,
        "MALFORMED_RANGE": str(MalformedRange()),
        "MAX_CHANGES": MAX_CHANGES,
        "MAX_CHARACTERS": MAX_CHARACTERS,
        "MAX_CONDITIONS": MAX_CONDITIONS,
        "MAX_DAYS": MAX_DAYS,
        "MAX_DEPTH": MAX_DEPTH,
        "MAX_FIELDS": MAX_FIELDS,
        "MAX_IDS": MAX_IDS,
        "MAX_KEYS": MAX_KEYS,
        "MAX_LIMIT": MAX_LIMIT,
        "MAX_OFFSET": MAX_OFFSET,
        "MAX_ORDERS": MAX_ORDERS,
        "MAX_PHRASE": MAX_PHRASE,
        "NOTHING_HERE": NOTHING_HERE,
        "OPERATORS": ", ".join(f"`{operator}`" for operator in OPERATORS),
        "PICTURES_BUSY": str(PicturesBusy(1)),
        "POINT": r"[0-9]{8}T[0-9]{9}Z-[0-9a-f]{8}@[0-9TZ:.-]{20,24}",
        "RECORDS": {record.name: _record(record) for record in RECORDS},
        "RECORD_REFS": [ref(record.name) for record in RECORDS],
        "TOO_MANY_KEYS": MAX_KEYS + 1,
        "TYPED_CLIENTS": [client.value for client in Client],
        "TYPED_LANGUAGES": [*LANGUAGES],
        "UNSATISFIABLE_RANGE": str(UnsatisfiableRange("bytes */4096")),
        "VERSION": VERSION,
    }


def _filled(part: Any, values: dict[str, Any]) -> Any:
    """Return a part of the file with its computed values.

    As a text of its own ``${NAME}`` is the value, among others of a list the value's items, as a member's name the
    value's members, and inside a text the value as people write it. Raises ``KeyError`` for a name without a value.
    """
    if isinstance(part, dict):
        found: Json = {}
        for name, value in part.items():
            alone = _COMPUTED.fullmatch(name)
            found |= values[alone[1]] if alone else {name: _filled(value, values)}
        return found
    if isinstance(part, list):
        items: list[Any] = []
        for one in part:
            value = _filled(one, values)
            items += value if isinstance(one, str) and isinstance(value, list) else [value]
        return items
    if isinstance(part, str):
        alone = _COMPUTED.fullmatch(part)
        return values[alone[1]] if alone else _COMPUTED.sub(lambda one: _written(values[one[1]]), part)
    return part


def _written(value: str | int) -> str:
    return value if isinstance(value, str) else f"{value:,}"


def _record(record: Record) -> Json:
    """Return the schema of a record, of which only what is required is sure."""
    properties: Json = {}
    for member in record.members:
        kind = "string" if member.unit is None else "integer"
        properties[member.name] = {"type": kind if member.required else [kind, "null"]}
        if member.about is not None:
            properties[member.name]["description"] = member.about
    sure = ", ".join(f"`{member.name}`" for member in record.members if member.required)
    return {
        "type": "object",
        "description": f"{record.article.capitalize()} {record.noun}. Only {sure} always has a value.",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }

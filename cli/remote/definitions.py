"""Read definitions from a server's schema, to be compared with others of the same kind.

The schema names no ``uid``, options or targets of references, so that a comparison leaves these out. It is fair only
between two schemas: APIs are paired by endpoint, as clients know them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET

from snapshots.model import Api, ApiKind, Field, FieldType, Group, Workspace


def definitions_of(schema: Mapping[str, Any]) -> Workspace:
    """Return the definitions that an answer to ``_schema`` shows. Raises ``KeyError`` and ``ValueError`` for others."""
    apis = tuple(
        Api(one["endpoint"], one["name"], one["endpoint"], ApiKind(one["kind"]), False, _fields(one["fields"]))
        for one in schema["apis"]
    )
    return Workspace(schema["workspace"], schema["workspace"], ("",), apis=apis)


def _fields(shown: list[dict[str, Any]]) -> tuple[Field, ...]:
    return tuple(
        Field(
            one["id"],
            one["name"],
            FieldType(one["type"]),
            one["required"],
            fields=_fields(one["fields"]) if "fields" in one else UNSET,
            groups=tuple(Group(kind["id"], kind["name"], _fields(kind["fields"])) for kind in one["groups"])
            if "groups" in one
            else UNSET,
        )
        for one in shown
    )

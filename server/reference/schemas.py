"""The shapes of answers as JSON Schema, by the names they have in the OpenAPI document (contract 2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from engine.read.query.answers.feed import MAX_CHANGES
from engine.timeline.changes import ChangeKind
from snapshots.ids import ID_FORM
from snapshots.model import ARRAY_TYPES, GROUP_KIND, RECORDS, FieldType, Record

Json = dict[str, Any]

ENTRY_ID: Final = f"^{ID_FORM}$"
DATETIME_EXAMPLE: Final = "2025-03-14T22:00:00.000Z"


def ref(name: str, kind: str = "schemas") -> Json:
    """A reference to a component of the document."""
    return {"$ref": f"#/components/{kind}/{name}"}


def obj(description: str, properties: Json, required: list[str] | None = None, **more: Any) -> Json:
    """An object of which all properties, or those named, are always there."""
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "required": list(properties) if required is None else required,
        **more,
    }


def moment(description: str) -> Json:
    """A date-time as every answer writes it."""
    return {
        "type": "string",
        "format": "date-time",
        "description": f"{description} UTC, always with milliseconds.",
        "examples": [DATETIME_EXAMPLE],
    }


def meta_properties() -> Json:
    """The fields every entry has, whatever its API."""
    return {
        "id": {
            "type": "string",
            "pattern": ENTRY_ID,
            "description": "Unique within its API.",
            "examples": ["melon-bread"],
        },
        "createdAt": moment("When the entry was created."),
        "updatedAt": moment("When it was last changed."),
        "publishedAt": moment("When it was published. Lists without `orders` are ordered by it."),
    }


def langs_property() -> Json:
    """``_langs``, which is there only when it is asked for."""
    return {**ref("Languages"), "description": "Present only with `include=_langs`, and never inside a reference."}


def list_of(entries: Json, description: str) -> Json:
    """A list response around entries of one shape (contract 2.2)."""
    return obj(
        description,
        {
            "contents": {
                "type": "array",
                "items": entries,
                "maxItems": 100,
                "description": "The entries of this page. Empty when nothing matches.",
            },
            "totalCount": {
                "type": "integer",
                "minimum": 0,
                "description": "How many live entries match `filters` and `q` in all.",
            },
            "offset": {"type": "integer", "minimum": 0, "description": "Where this page begins."},
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": 100,
                "description": "How many entries it holds at most.",
            },
        },
    )


def _record(record: Record) -> Json:
    """A record, of which only what is required is sure."""
    properties: Json = {}
    for member in record.members:
        kind = "string" if member.unit is None else "integer"
        properties[member.name] = {"type": kind if member.required else [kind, "null"]}
        if member.about is not None:
            properties[member.name]["description"] = member.about
    sure = ", ".join(f"`{member.name}`" for member in record.members if member.required)
    article = record.article.capitalize()
    return obj(f"{article} {record.noun}. Only {sure} always has a value.", properties, additionalProperties=False)


def base_schemas(records: Iterable[Record] = RECORDS) -> Json:
    """The schemas that do not depend on what an entry holds, but for the records in it."""
    count = {"type": "integer", "minimum": 0}
    return {
        "Languages": obj(
            "The language returned, and those that are live.",
            {
                "current": {"type": "string", "description": "The language of the values.", "examples": ["en"]},
                "available": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "The languages live now: the main one first, the others in the workspace's order.",
                    "examples": [["en", "ja"]],
                },
            },
        ),
        **{record.name: _record(record) for record in records},
        "Schema": obj(
            "The APIs this key may read, and their fields. No content.",
            {"workspace": {"type": "string"}, "apis": {"type": "array", "items": ref("ApiDefinition")}},
            additionalProperties=False,
        ),
        "ChangeFeed": obj(
            "What changed for clients.",
            {
                "changes": {"type": "array", "items": ref("EntryChange"), "maxItems": MAX_CHANGES},
                "next": {"type": "string", "description": "The `since` for the next call."},
                "nextChange": {
                    "type": ["string", "null"],
                    "format": "date-time",
                    "description": "When an entry is next published or ends by its schedule; `null` where none does, "
                    "or where the workspace does not tell.",
                },
                "previous": {
                    "type": ["string", "null"],
                    "description": "The snapshot version that was current before this one; `null` if there was none.",
                },
            },
            additionalProperties=False,
        ),
        "EntryChange": obj(
            "One language version that clients see differently now.",
            {
                "api": {"type": "string", "description": "The endpoint."},
                "id": {"type": "string"},
                "lang": {"type": "string", "description": "The language of the language version that changed."},
                "change": {"type": "string", "enum": [kind.value for kind in ChangeKind]},
            },
            additionalProperties=False,
        ),
        "ApiDefinition": obj(
            "One API.",
            {
                "name": {"type": "string", "description": "For people."},
                "endpoint": {"type": "string", "description": "For paths."},
                "kind": {
                    "type": "string",
                    "enum": ["list", "object"],
                    "description": "`list` has many entries, `object` one item.",
                },
                "fields": {"type": "array", "items": ref("FieldDefinition")},
            },
            additionalProperties=False,
        ),
        "FieldDefinition": obj(
            "One field of an API. `id` and the three dates are not listed: every entry has them.",
            {
                "id": {"type": "string"},
                "name": {"type": "string"},
                "type": {
                    "type": "string",
                    "enum": [one.value for one in FieldType],
                },
                "required": {"type": "boolean", "description": "Whether every published entry has a value."},
                "fields": {
                    "type": "array",
                    "items": ref("FieldDefinition"),
                    "description": "For `group`, and for `groups` of one kind: the fields of each group.",
                },
                "groups": {
                    "type": "array",
                    "items": ref("GroupDefinition"),
                    "description": "For `groups` of several kinds: the kinds.",
                },
            },
            ["id", "name", "type", "required"],
            additionalProperties=False,
        ),
        "GroupDefinition": obj(
            f"One kind of group. Each such group names its kind in the member `{GROUP_KIND}`.",
            {
                "id": {"type": "string"},
                "name": {"type": "string"},
                "fields": {"type": "array", "items": ref("FieldDefinition")},
            },
            additionalProperties=False,
        ),
        "Views": obj(
            "View counts by entry ID.",
            {
                "days": {"type": "integer", "minimum": 1, "maximum": 365, "description": "The range of `recent`."},
                "views": {
                    "type": "object",
                    "additionalProperties": ref("ViewCount"),
                    "description": "One member for each ID in the request; an ID without an entry has zero.",
                },
            },
            additionalProperties=False,
        ),
        "ViewCount": obj(
            "How often one entry was viewed.",
            {
                "total": {**count, "description": "Ever."},
                "recent": {**count, "description": "In the last `days` days, today included."},
            },
            additionalProperties=False,
        ),
        "PublicCounts": obj(
            "All-time counts, by the IDs and paths in the request.",
            {
                "entries": {"type": "object", "additionalProperties": count},
                "paths": {"type": "object", "additionalProperties": count},
            },
            additionalProperties=False,
        ),
        "PageView": obj(
            "One view of a page. With `entryId` it counts for the entry, without it for the path.",
            {
                "path": {"type": "string", "maxLength": 1024, "examples": ["/breads/melon-bread"]},
                "entryId": {"type": ["string", "null"], "pattern": ENTRY_ID, "examples": ["melon-bread"]},
            },
            ["path"],
        ),
        "Error": obj(
            "Every failure. The message says what is wrong and, where possible, what is accepted.",
            {"message": {"type": "string", "minLength": 1}},
            additionalProperties=False,
        ),
        "Alive": obj("The process answers.", {"status": {"const": "ok"}}),
        "Readiness": readiness(),
        "Linkset": obj(
            "A set of links (RFC 9264).",
            {"linkset": {"type": "array", "items": {"type": "object"}}},
        ),
    }


def readiness() -> Json:
    """The answer of ``/readyz``."""
    text = {"type": ["string", "null"]}
    return obj(
        "What is served of each workspace, and what is wrong.",
        {
            "ready": {"type": "boolean", "description": "Whether at least one workspace can be served."},
            "workspaces": {
                "type": "array",
                "items": obj(
                    "One workspace.",
                    {
                        "id": {"type": "string"},
                        "version": {**text, "description": "The snapshot served, as in `X-Snapshot`."},
                        "since": {**text, "format": "date-time"},
                        "behind": {
                            "type": "array",
                            "items": {"type": "object"},
                            "description": "What has been older than in a bucket for more than two polls, since when.",
                        },
                        "problems": {"type": "array", "items": {"type": "string"}},
                    },
                ),
            },
            "store": {
                "anyOf": [
                    obj(
                        "The store, where it is in a bucket.",
                        {
                            "lastContact": {
                                "type": ["number", "null"],
                                "minimum": 0,
                                "description": "Seconds since the store last answered; `null` if it never did.",
                            }
                        },
                        ["lastContact"],
                    ),
                    {"type": "null"},
                ],
            },
            "keeper": obj(
                "The process beside those that answer: page views, webhooks, expiry e-mails and the console.",
                {"running": {"type": "boolean"}, "problem": text},
            ),
            "message": {"type": "string", "description": "Only when nothing is ready."},
        },
        ["ready", "workspaces", "store"],
    )


def entry_schemas() -> Json:
    """Entries of any API: what can be said of them without knowing a workspace."""
    arrays = ", ".join(f"`{one}`" for one in FieldType if one in ARRAY_TYPES)
    return {
        "Entry": obj(
            "An entry of a list API, or the item of an object API. Beside the members named here it has its API's "
            "fields, in the order `_schema` lists them. With `fields`, only `id` is always present.",
            {**meta_properties(), "_langs": langs_property()},
            ["id"],
            additionalProperties=ref("FieldValue"),
        ),
        "FieldValue": {
            "description": f"The value of a field. One without a value is `null`, or `[]` for the types {arrays}. "
            "A reference is the entry as an object where it is expanded, else its ID: check which.",
            "anyOf": [
                {"type": ["string", "number", "boolean", "null"]},
                {"type": "array", "items": {"anyOf": [{"type": "string"}, ref("Entry")]}},
                *(ref(record.name) for record in RECORDS),
                ref("Entry"),
                {"type": "array", "description": "Of a `json` field.", "items": {}},
                {"type": "object", "description": "Of a `json` field.", "additionalProperties": True},
            ],
        },
        "EntryList": list_of(ref("Entry"), "A page of the entries that are live now."),
    }

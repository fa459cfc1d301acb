"""Every parameter with what it accepts: the limits are those of the code that reads them (contract 4.3, 8)."""

from __future__ import annotations

from typing import Any, Final

from engine.read.query.answers.feed import DEFAULT_CHANGES, MAX_CHANGES
from engine.read.query.answers.view_counts import MAX_IDS, MAX_KEYS
from engine.read.query.filters import MAX_CHARACTERS, MAX_CONDITIONS, OPERATORS
from engine.read.query.parameters import MAX_DEPTH, MAX_FIELDS, MAX_LIMIT, MAX_OFFSET, MAX_ORDERS, MAX_PHRASE
from engine.views.counting.counts import MAX_DAYS
from server.reference.schemas import ENTRY_ID, Json, ref
from snapshots.ids import ID_FORM

LIST: Final = ("limit", "offset", "orders", "filters", "q")
"""Parameters of lists alone."""
SHARED: Final = ("depth", "fields", "lang", "lang_fallback", "include")
PINNED: Final = "X-Snapshot"
"""The header that every endpoint under ``/v1`` takes."""
SINGLE: Final = ("draftKey", "X-Draft-Key")
"""Parameters of single entries and objects alone."""
POINT: Final = r"[0-9]{8}T[0-9]{9}Z-[0-9a-f]{8}@[0-9TZ:.-]{20,24}"
FIELD_ID: Final = "[A-Za-z][A-Za-z0-9_]{0,63}"
_OPERATORS: Final = ", ".join(f"`{operator}`" for operator in OPERATORS)


def used(*names: str) -> list[Json]:
    """References to parameters, as an operation lists them."""
    return [ref(name, "parameters") for name in names]


def _query(name: str, description: str, schema: Json, **more: Any) -> Json:
    return {"name": name, "in": "query", "description": description, "schema": schema, **more}


def orders_schema(key: str) -> Json:
    """Up to three keys of the given pattern, each with an optional ``-``; an empty value is the default order."""
    return {"type": "string", "pattern": f"^(-?{key}(,-?{key}){{0,{MAX_ORDERS - 1}}})?$", "default": "-publishedAt"}


def parameters() -> dict[str, Json]:
    """The document's ``components.parameters``."""
    return {
        "workspace": {
            "name": "workspace",
            "in": "path",
            "required": True,
            "description": "The workspace's ID.",
            "schema": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,62}$"},
        },
        "endpoint": {
            "name": "endpoint",
            "in": "path",
            "required": True,
            "description": "The API's endpoint, as `_schema` lists it. Case-sensitive.",
            "schema": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"},
        },
        "entryId": {
            "name": "entryId",
            "in": "path",
            "required": True,
            "description": "The entry's `id`. An ID that no entry has gets 404, even if it is malformed.",
            "schema": {"type": "string", "minLength": 1},
        },
        "assetName": {
            "name": "name",
            "in": "path",
            "required": True,
            "description": "The file's name, as given in the content.",
            "schema": {"type": "string", "pattern": r"^([A-Za-z0-9_-]{1,60}\.)?[0-9a-f]{32}\.[a-z0-9]{1,5}$"},
        },
        "limit": _query(
            "limit",
            f"Lists: how many entries, 1 to {MAX_LIMIT}. Digits only.",
            {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": 10},
        ),
        "offset": _query(
            "offset",
            "Lists: how many entries to skip. Past the end the page is empty. Digits only.",
            {"type": "integer", "minimum": 0, "maximum": MAX_OFFSET, "default": 0},
        ),
        "orders": _query(
            "orders",
            f"Lists: up to {MAX_ORDERS} sort keys, separated by commas, the most important first; `-` before a key "
            "means descending. Keys are `createdAt`, `updatedAt`, `publishedAt`, `views`, and the IDs of number, "
            "datetime, text and boolean fields. Missing values come last. Empty is the default.",
            orders_schema(FIELD_ID),
        ),
        "filters": _query(
            "filters",
            f"Lists: up to {MAX_CONDITIONS} conditions `fieldID[operator]value`, joined by `[and]` or by `[or]`, never "
            f"both; at most {MAX_CHARACTERS:,} characters. Operators: {_OPERATORS}. For example "
            "`price[less_than]300[and]vegan[equals]true`.",
            {"type": "string", "maxLength": MAX_CHARACTERS},
        ),
        "q": _query(
            "q",
            "Lists: a phrase that some text, textarea or richtext field contains, in any case of letters. At most "
            f"{MAX_PHRASE} characters.",
            {"type": "string", "maxLength": MAX_PHRASE},
        ),
        "depth": _query(
            "depth",
            "How many levels of references are expanded. With 0, references are IDs.",
            {"type": "integer", "minimum": 0, "maximum": MAX_DEPTH, "default": 1},
        ),
        "fields": _query(
            "fields",
            f"Up to {MAX_FIELDS} field IDs, separated by commas, to return with `id`. The three dates are returned "
            "only if named; unknown IDs are ignored. Entries inside references are whole. If empty, all fields are "
            "returned.",
            {"type": "string", "pattern": f"^[^,]*(,[^,]*){{0,{MAX_FIELDS - 1}}}$"},
        ),
        "lang": _query(
            "lang",
            "A language of the workspace. The default is the main language, the only one of an API without "
            "multilingual support.",
            {"type": "string", "pattern": "^[A-Za-z0-9]+([-_][A-Za-z0-9]+)*$"},
        ),
        "lang_fallback": _query(
            "lang_fallback",
            "`true` returns the live main-language version of an entry that has none in `lang`.",
            {"type": "boolean", "default": False},
        ),
        "include": _query(
            "include",
            "`_langs` adds the language returned and the languages that are live.",
            {"type": "string", "enum": ["_langs"]},
        ),
        "draftKey": _query(
            "draftKey",
            "Single entries and objects: opens the saved, unpublished changes of one language version. The "
            "header `X-Draft-Key` takes precedence.",
            {"type": "string", "pattern": ENTRY_ID},
        ),
        "X-Draft-Key": {
            "name": "X-Draft-Key",
            "in": "header",
            "description": "Single entries and objects: a draft key, without showing it in the URL.",
            "schema": {"type": "string", "pattern": ENTRY_ID},
        },
        "X-Snapshot": {
            "name": "X-Snapshot",
            "in": "header",
            "description": "Pins the request to a snapshot version and an instant, `<version>@<instant>`, as "
            "`X-Snapshot` and `X-Snapshot-At` of an answer gave them: later changes do not show. 410 if the "
            "instant is too long ago, or that snapshot version is no longer kept.",
            "schema": {"type": "string", "pattern": f"^{POINT}$"},
        },
        "since": _query(
            "since",
            "Where the changes begin: `next` of an answer, or `<version>@<instant>` as `X-Snapshot` and "
            "`X-Snapshot-At` of an answer give it. Without it, there are no changes, and `next` is the present state.",
            {"type": "string", "pattern": f"^{POINT}(~{POINT}~[1-9][0-9]{{0,15}})?$"},
        ),
        "changesLimit": _query(
            "limit",
            f"How many changes, 1 to {MAX_CHANGES:,}. Digits only.",
            {"type": "integer", "minimum": 1, "maximum": MAX_CHANGES, "default": DEFAULT_CHANGES},
        ),
        "ids": _query(
            "ids",
            f"1 to {MAX_IDS} entry IDs, separated by commas.",
            {"type": "string", "pattern": f"^{ID_FORM}(,{ID_FORM}){{0,{MAX_IDS - 1}}}$"},
            required=True,
        ),
        "days": _query(
            "days",
            "The range of `recent`: calendar days in Japan, today included.",
            {"type": "integer", "minimum": 1, "maximum": MAX_DAYS, "default": 30},
        ),
        "countedEntries": _counted("entryId", "entry IDs"),
        "countedPaths": _counted("path", "paths"),
    }


def _counted(name: str, what: str) -> Json:
    return _query(
        name,
        f"Up to {MAX_KEYS} {what}: repeat the parameter; commas are part of a value. A malformed value has the count "
        "0.",
        {"type": "array", "items": {"type": "string"}, "maxItems": MAX_KEYS},
        style="form",
        explode=True,
    )

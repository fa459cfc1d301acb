"""The OpenAPI document of one workspace: its APIs as paths, their entries as schemas for each depth (contract 9)."""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET

from engine.typed.names import conditions, one_line, order_keys, selectable, targets_of, type_names, used_records
from server.reference.answers import answered
from server.reference.document import document
from server.reference.operations import changes, operation, paths, schema, views
from server.reference.parameters import PINNED, SINGLE, orders_schema, parameters, used
from server.reference.schemas import Json, base_schemas, langs_property, list_of, meta_properties, moment, ref
from snapshots.model import ARRAY_TYPES, GROUP_KIND, REFERENCE_TYPES, Api, ApiKind, Field, Group, ValueKind, Workspace

_DEPTHS: Final = {1: "", 2: "Depth2", 0: "Depth0"}
"""Depth → the ending of its schema's name; the default depth has the plain name."""


def workspace_document(workspace: Workspace, url: str) -> Json:
    """The definition of the service for a client of one workspace, which is served below ``url``."""
    shared = base_schemas(used_records(workspace))
    names = type_names(workspace, frozenset((*shared, "Entry", "FieldValue", "EntryList")))
    known = parameters()
    for general in ("workspace", "endpoint", "orders", "filters", "lang"):
        del known[general]
    schemas = dict(shared)
    for api in workspace.apis:
        schemas |= api_schemas(api, names, workspace)
    found = document(
        f"{one_line(workspace.name)}: delivery API",
        f"The content of the workspace `{workspace.id}` as JSON, read with an API key in the header `X-API-KEY`. "
        'Every failure is `{"message": "…"}`.',
        workspace_paths(workspace, names),
        schemas,
        known,
    )
    found["servers"] = [{"url": url.rstrip("/") or "/"}]
    return found


def workspace_paths(workspace: Workspace, names: dict[str, str]) -> Json:
    """The paths with the workspace's own names in them."""
    base = f"/v1/{workspace.id}"
    found: Json = {}
    for api in workspace.apis:
        name = names[api.uid]
        if api.kind is ApiKind.OBJECT:
            found[f"{base}/{api.endpoint}"] = {"get": object_operation(api, name, workspace)}
            continue
        found[f"{base}/{api.endpoint}"] = {"get": list_operation(api, name, workspace)}
        found[f"{base}/{api.endpoint}/{{entryId}}"] = {"get": entry_operation(api, name, workspace)}
    found[f"{base}/_schema"] = {"get": {**schema(), "parameters": used(PINNED)}}
    found[f"{base}/_changes"] = {"get": {**changes(), "parameters": used("since", "changesLimit", PINNED)}}
    for api in workspace.apis:
        counted = {**views(), "operationId": f"get{names[api.uid]}Views", "parameters": used("ids", "days", PINNED)}
        found[f"{base}/_views/{api.endpoint}"] = {"get": counted}
    for path, item in paths().items():
        if path.startswith(("/pv/", "/assets/")):
            for method in item.values():
                method["parameters"] = [one for one in method["parameters"] if one not in used("workspace")]
            found[path.replace("{workspace}", workspace.id)] = item
        elif not path.startswith("/v1/"):
            found[path] = item
    return found


def list_operation(api: Api, name: str, workspace: Workspace) -> Json:
    taken = [
        *used("limit", "offset"),
        _orders(api),
        _filters(api),
        *used("q", "depth"),
        _fields(api),
        _lang(api, workspace),
        *used("lang_fallback", "include", PINNED),
    ]
    lists = {"anyOf": [ref(f"{name}{depth}List") for depth in (*_DEPTHS.values(), "Part")]}
    return operation(
        f"list{name}",
        "Content",
        one_line(api.name),
        "The entries that are live now.",
        taken,
        answered("A page of entries.", lists, {}),
    )


def entry_operation(api: Api, name: str, workspace: Workspace) -> Json:
    taken = [*used("entryId", "depth"), _fields(api), _lang(api, workspace), *used("lang_fallback", "include")]
    return operation(
        f"get{name}",
        "Content",
        f"{one_line(api.name)}: one entry",
        "404 when it does not exist or is not live. With a draft key, its saved, unpublished changes.",
        [*taken, *used(*SINGLE, PINNED)],
        answered("The entry.", _any_depth(name), {}),
    )


def object_operation(api: Api, name: str, workspace: Workspace) -> Json:
    taken = [*used("depth"), _fields(api), _lang(api, workspace), *used("lang_fallback", "include")]
    return operation(
        f"get{name}",
        "Content",
        one_line(api.name),
        "The item of an object API. 404 while it is not live.",
        [*taken, *used(*SINGLE, PINNED)],
        answered("The item.", _any_depth(name), {}),
    )


def _any_depth(name: str) -> Json:
    return {"anyOf": [ref(f"{name}{depth}") for depth in (*_DEPTHS.values(), "Part")]}


def _orders(api: Api) -> Json:
    keys = order_keys(api)
    described = {
        **parameters()["orders"],
        "description": "Up to 3 sort keys, separated by commas, the most important first; `-` before a key means "
        f"descending. Keys: {_code(keys)}.",
    }
    return {**described, "schema": orders_schema(f"({'|'.join(keys)})")}


def _filters(api: Api) -> Json:
    table = "".join(
        f"\n- {_code(one.fields)}: {_code(one.operators)}" + (f" a {one.value}" if one.value else "")
        for one in conditions(api)
    )
    return {
        **parameters()["filters"],
        "description": "Up to 10 conditions `fieldID[operator]value`, joined by `[and]` or by `[or]`, never both; at "
        f"most 1,000 characters.\n{table}",
    }


def _fields(api: Api) -> Json:
    general = parameters()["fields"]
    return {**general, "description": f"{general['description']} There are: {_code(selectable(api))}."}


def _lang(api: Api, workspace: Workspace) -> Json:
    languages = list(workspace.languages_of(api))
    return {**parameters()["lang"], "schema": {"type": "string", "enum": languages, "default": languages[0]}}


def _code(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def api_schemas(api: Api, names: dict[str, str], workspace: Workspace) -> Json:
    """The entries of an API at each depth, what ``fields`` or a draft leave of them, and for list APIs their lists."""
    name = names[api.uid]
    what = "An entry" if api.kind is ApiKind.LIST else "The item"
    text = f"{what} of {one_line(api.name)}"
    found: Json = {}
    for depth, ending in _DEPTHS.items():
        members = {field.id: _value(field, depth, names, workspace) for field in api.fields}
        found[name + ending] = _entry(f"{text} at depth {depth}.", members, ["id", *selectable(api)])
    members = {field.id: _value(field, None, names, workspace) for field in api.fields}
    found[f"{name}Part"] = _entry(f"{text}, reduced by `fields`, or a draft.", members, ["id"])
    if api.kind is ApiKind.LIST:
        for ending in (*_DEPTHS.values(), "Part"):
            found[f"{name}{ending}List"] = list_of(ref(name + ending), f"A page of {one_line(api.name)}.")
    return found


def _entry(description: str, members: Json, required: list[str]) -> Json:
    properties = {**meta_properties(), **members, "_langs": langs_property()}
    return {"type": "object", "description": description, "properties": properties, "required": required}


def _value(field: Field, depth: int | None, names: dict[str, str], workspace: Workspace) -> Json:
    """The schema of a field's value; at depth ``None`` of any depth, and as a draft may hold it."""
    found = _known_value(field, depth, names, workspace)
    name = one_line(field.name)
    # Beside a reference to another schema a description stands by itself (JSON Schema 2020-12).
    return {**found, "description": name}


def _known_value(field: Field, depth: int | None, names: dict[str, str], workspace: Workspace) -> Json:
    nullable = field.type not in ARRAY_TYPES and (depth is None or not field.required)
    if field.type in REFERENCE_TYPES:
        expanded = _expanded(field, depth, names, workspace)
        if field.type in ARRAY_TYPES:
            items = {"anyOf": [*expanded, {"type": "string"}]} if expanded else {"type": "string"}
            return {"type": "array", "items": items}
        if expanded:
            return {"anyOf": [*expanded, {"type": ["string", "null"]}]}
        return {"type": _or_null("string", nullable)}
    if field.type in ARRAY_TYPES:
        return {"type": "array", "items": _one(field, depth, names, workspace, nullable=False)}
    return _one(field, depth, names, workspace, nullable=nullable)


def _one(field: Field, depth: int | None, names: dict[str, str], workspace: Workspace, *, nullable: bool) -> Json:
    """The schema of one value of a field that refers to no entry."""
    facts = field.type.facts
    match facts.kind:
        case ValueKind.NUMBER:
            return {"type": _or_null("number", nullable)}
        case ValueKind.BOOLEAN:
            return {"type": _or_null("boolean", nullable)}
        case ValueKind.INSTANT:
            return {**moment(""), "type": _or_null("string", nullable)}
        case ValueKind.OPTION if field.options:
            return {"type": _or_null("string", nullable), "enum": [*field.options, *([None] if nullable else [])]}
        case ValueKind.RECORD if facts.record is not None:
            record = ref(facts.record.name)
            return {"anyOf": [record, {"type": "null"}]} if nullable else {"allOf": [record]}
        case ValueKind.GROUP:
            kinds = [_group(kind, depth, names, workspace) for kind in field.kinds]
            return {"anyOf": [*kinds, *([{"type": "null"}] if nullable else [])]}
        case ValueKind.JSON:
            return {}
    return {"type": _or_null("string", nullable)}


def _or_null(kind: str, nullable: bool) -> Any:
    return [kind, "null"] if nullable else kind


def _group(kind: Group, depth: int | None, names: dict[str, str], workspace: Workspace) -> Json:
    properties: Json = {GROUP_KIND: {"const": kind.id}} if kind.id else {}
    properties |= {field.id: _value(field, depth, names, workspace) for field in kind.fields}
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _expanded(field: Field, depth: int | None, names: dict[str, str], workspace: Workspace) -> list[Json]:
    """The entries that a reference can be delivered as."""
    if depth == 0:
        return []
    found = []
    for target in targets_of(field, workspace):
        of_api = {"properties": {"_api": {"const": target.endpoint}}, "required": ["_api"]}
        for inside in [1, 0] if depth is None else [depth - 1]:
            entry = ref(names[target.uid] + _DEPTHS[inside])
            found.append(entry if field.targets is UNSET else {"allOf": [entry, {"type": "object", **of_api}]})
    return found

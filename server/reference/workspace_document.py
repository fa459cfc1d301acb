"""The OpenAPI document of one workspace: its APIs as paths, their entries as schemas for each depth (contract 9)."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import UNSET

from engine.typed.names import conditions, one_line, order_keys, selectable, targets_of, type_names, used_records
from server.reference.document import JSON, Json, ref, service_document
from snapshots.model import (
    ARRAY_TYPES,
    GROUP_KIND,
    RECORDS,
    REFERENCE_TYPES,
    Api,
    ApiKind,
    Field,
    FieldType,
    Group,
    ValueKind,
    Workspace,
)

_DEPTHS: Final = {1: "", 2: "Depth2", 0: "Depth0"}
"""The ending of a schema's name by depth; the default depth has the plain name."""
_GENERAL: Final = ("Entry", "FieldValue", "EntryList")
"""The schemas of entries of any API."""
_DEFINED: Final = (
    ("_schema", ()),
    ("_openapi", ()),
    ("_types/{language}", ("language", "client")),
    ("_changes", ("since", "changesLimit")),
)
"""The paths that are about the whole workspace, and their parameters."""
_SINGLE: Final = ("draftKey", "X-Draft-Key", "X-Snapshot", "Prefer")


def workspace_document(workspace: Workspace, url: str) -> Json:
    """Return the definition of the service for a client of one workspace, which is served below ``url``."""
    service = service_document()
    components = service["components"]
    unused = {record.name for record in RECORDS} - {record.name for record in used_records(workspace)}
    shared = {name: one for name, one in components["schemas"].items() if name not in unused and name not in _GENERAL}
    names = type_names(workspace, frozenset((*shared, *_GENERAL)))
    made = _Made(workspace, names, service)
    known = {
        name: one
        for name, one in components["parameters"].items()
        if name not in ("workspace", "endpoint", "orders", "filters", "lang")
    }
    schemas = dict(shared)
    for api in workspace.apis:
        schemas |= made.schemas(api)
    about = {
        "title": f"{one_line(workspace.name)}: delivery API",
        "description": f"The content of the workspace `{workspace.id}` as JSON, read with an API key in the header "
        f'`X-API-KEY`. Every failure is `{{"message": "…"}}`.\n\nLanguages: {_languages(workspace.languages)}.',
    }
    return {
        **service,
        "info": {**service["info"], **about},
        "servers": [{"url": url.rstrip("/") or "/"}],
        "paths": made.paths(),
        "components": {**components, "schemas": schemas, "parameters": known},
    }


def encoded_document(workspace: Workspace, url: str) -> bytes:
    """Return ``workspace_document`` as JSON."""
    return msgspec.json.encode(workspace_document(workspace, url))


def _used(*names: str) -> list[Json]:
    """Return references to parameters, as an operation lists them."""
    return [ref(name, "parameters") for name in names]


class _Made:
    """Makes the parts of a workspace's document out of those of the service's."""

    def __init__(self, workspace: Workspace, names: dict[str, str], service: Json) -> None:
        self._workspace, self._names = workspace, names
        self._paths = service["paths"]
        self._parameters = service["components"]["parameters"]
        self._schemas = service["components"]["schemas"]

    def paths(self) -> Json:
        """Return the paths with the workspace's own names in them."""
        base, general = f"/v1/{self._workspace.id}", "/v1/{workspace}"
        found: Json = {}
        for api in self._workspace.apis:
            if api.kind is ApiKind.OBJECT:
                found[f"{base}/{api.endpoint}"] = {"get": self._object(api)}
                continue
            found[f"{base}/{api.endpoint}"] = {"get": self._list(api)}
            found[f"{base}/{api.endpoint}/{{entryId}}"] = {"get": self._entry(api)}
        for name, taken in _DEFINED:
            operation = self._paths[f"{general}/{name}"]["get"]
            found[f"{base}/{name}"] = {"get": {**operation, "parameters": _used(*taken, "X-Snapshot", "Prefer")}}
        views = {
            **self._paths[f"{general}/_views/{{endpoint}}"]["get"],
            "parameters": _used("ids", "days", "X-Snapshot", "Prefer"),
        }
        for api in self._workspace.apis:
            counted = {**views, "operationId": f"get{self._names[api.uid]}Views"}
            found[f"{base}/_views/{api.endpoint}"] = {"get": counted}
        for path, item in self._paths.items():
            if path.startswith(("/pv/", "/assets/")):
                for method in item.values():
                    method["parameters"] = [one for one in method["parameters"] if one not in _used("workspace")]
                found[path.replace("{workspace}", self._workspace.id)] = item
            elif not path.startswith("/v1/"):
                found[path] = item
        return found

    def _list(self, api: Api) -> Json:
        taken = [
            *_used("limit", "offset"),
            self._orders(api),
            self._filters(api),
            *_used("q", "depth"),
            self._fields(api),
            self._lang(api),
            *_used("lang_fallback", "include", "X-Snapshot", "Prefer"),
        ]
        name = self._names[api.uid]
        lists = {"anyOf": [ref(f"{name}{depth}List") for depth in (*_DEPTHS.values(), "Part")]}
        about = f"list{name}", one_line(api.name), _about(api, "The entries that are live now.")
        return self._operation(*about, taken, "A page of entries.", lists)

    def _entry(self, api: Api) -> Json:
        name = self._names[api.uid]
        taken = [*_used("entryId", "depth"), self._fields(api), self._lang(api), *_used("lang_fallback", "include")]
        what = "404 when it does not exist or is not live. With a draft key, its saved, unpublished changes."
        about = f"get{name}", f"{one_line(api.name)}: one entry", _about(api, what)
        return self._operation(*about, [*taken, *_used(*_SINGLE)], "The entry.", _any_depth(name))

    def _object(self, api: Api) -> Json:
        name = self._names[api.uid]
        taken = [*_used("depth"), self._fields(api), self._lang(api), *_used("lang_fallback", "include")]
        what = "The item of an object API. 404 while it is not live."
        about = f"get{name}", one_line(api.name), _about(api, what)
        return self._operation(*about, [*taken, *_used(*_SINGLE)], "The item.", _any_depth(name))

    def _operation(
        self, operation_id: str, summary: str, description: str, parameters: list[Json], answer: str, schema: Json
    ) -> Json:
        """Return an operation on content, which fails as the service's own do."""
        general = self._paths["/v1/{workspace}/{endpoint}"]["get"]
        succeeded = {**general["responses"]["200"], "description": answer, "content": {JSON: {"schema": schema}}}
        return {
            **general,
            "operationId": operation_id,
            "summary": summary,
            "description": description,
            "parameters": parameters,
            "responses": {**general["responses"], "200": succeeded},
        }

    def _orders(self, api: Api) -> Json:
        keys = order_keys(api)
        described = {
            **self._parameters["orders"],
            "description": "Up to 3 sort keys, separated by commas, the most important first; `-` before a key means "
            f"descending. Keys: {_code(keys)}. Without any, the order is `-publishedAt`.",
        }
        return {**described, "schema": _listed(self._parameters["orders"], [*keys, *(f"-{key}" for key in keys)])}

    def _filters(self, api: Api) -> Json:
        table = "".join(
            f"\n- {_code(one.fields)}: {_code(one.operators)}" + (f" a {one.value}" if one.value else "")
            for one in conditions(api)
        )
        return {
            **self._parameters["filters"],
            "description": "Up to 10 conditions `fieldID[operator]value`, joined by `[and]` or by `[or]`, never both; "
            f"at most 1,000 characters.\n{table}",
        }

    def _fields(self, api: Api) -> Json:
        general = self._parameters["fields"]
        described = {**general, "description": f"{general['description']} There are: {_code(selectable(api))}."}
        return {**described, "schema": _listed(general, ["id", *selectable(api)])}

    def _lang(self, api: Api) -> Json:
        languages = list(self._workspace.languages_of(api))
        schema = {"type": "string", "enum": languages, "default": languages[0]}
        return {**self._parameters["lang"], "schema": schema}

    def schemas(self, api: Api) -> Json:
        """Return the entries of an API at each depth, what ``fields`` or a draft leave of them, and for list APIs
        their lists."""
        name = self._names[api.uid]
        what = "An entry" if api.kind is ApiKind.LIST else "The item"
        text = f"{what} of {one_line(api.name)}"
        found: Json = {}
        for depth, ending in _DEPTHS.items():
            members = {field.id: self._value(field, depth) for field in api.fields}
            about = _about(api, f"{text} at depth {depth}.")
            found[name + ending] = self._entry_schema(about, members, ["id", *selectable(api)])
        members = {field.id: self._value(field, None) for field in api.fields}
        about = _about(api, f"{text}, reduced by `fields`, or a draft.")
        found[f"{name}Part"] = self._entry_schema(about, members, ["id"])
        if api.kind is ApiKind.LIST:
            for ending in (*_DEPTHS.values(), "Part"):
                found[f"{name}{ending}List"] = self._list_schema(name + ending, f"A page of {one_line(api.name)}.")
        return found

    def _entry_schema(self, description: str, members: Json, required: list[str]) -> Json:
        meta = dict(self._schemas["Entry"]["properties"])
        langs = meta.pop("_langs")
        properties = {**meta, **members, "_langs": langs}
        return {"type": "object", "description": description, "properties": properties, "required": required}

    def _list_schema(self, entry: str, description: str) -> Json:
        general = self._schemas["EntryList"]
        contents = {**general["properties"]["contents"], "items": ref(entry)}
        return {**general, "description": description, "properties": {**general["properties"], "contents": contents}}

    def _value(self, field: Field, depth: int | None) -> Json:
        """The schema of a field's value; at depth ``None`` of any depth, and as a draft may hold it."""
        found = self._known_value(field, depth)
        targets = [f"`{api.endpoint}`" for api in targets_of(field, self._workspace)]
        text = _about(field, one_line(field.name))
        if targets:
            text += f"\n\nRefers to entries of {', '.join(targets)}."
        if field.type is FieldType.RICHTEXT:
            text += "\n\nHTML."
        # Beside a reference to another schema a description stands by itself (JSON Schema 2020-12).
        return {**found, "description": text}

    def _known_value(self, field: Field, depth: int | None) -> Json:
        nullable = field.type not in ARRAY_TYPES and (depth is None or not field.required)
        if field.type in REFERENCE_TYPES:
            expanded = self._expanded(field, depth)
            if field.type in ARRAY_TYPES:
                items = {"anyOf": [*expanded, {"type": "string"}]} if expanded else {"type": "string"}
                return {"type": "array", "items": items}
            if expanded:
                return {"anyOf": [*expanded, {"type": ["string", "null"]}]}
            return {"type": _or_null("string", nullable)}
        if field.type in ARRAY_TYPES:
            return {"type": "array", "items": self._one(field, depth, nullable=False)}
        return self._one(field, depth, nullable=nullable)

    def _one(self, field: Field, depth: int | None, *, nullable: bool) -> Json:
        """The schema of one value of a field that refers to no entry."""
        facts = field.type.facts
        match facts.kind:
            case ValueKind.NUMBER:
                return {"type": _or_null("number", nullable)}
            case ValueKind.BOOLEAN:
                return {"type": _or_null("boolean", nullable)}
            case ValueKind.INSTANT:
                return {**self._schemas["Entry"]["properties"]["createdAt"], "type": _or_null("string", nullable)}
            case ValueKind.OPTION if field.options:
                return {"type": _or_null("string", nullable), "enum": [*field.options, *([None] if nullable else [])]}
            case ValueKind.RECORD if facts.record is not None:
                record = ref(facts.record.name)
                return {"anyOf": [record, {"type": "null"}]} if nullable else {"allOf": [record]}
            case ValueKind.GROUP:
                kinds = [self._group(kind, depth) for kind in field.kinds]
                return {"anyOf": [*kinds, *([{"type": "null"}] if nullable else [])]}
            case ValueKind.JSON:
                return {}
        return {"type": _or_null("string", nullable)}

    def _group(self, kind: Group, depth: int | None) -> Json:
        properties: Json = {GROUP_KIND: {"const": kind.id}} if kind.id else {}
        properties |= {field.id: self._value(field, depth) for field in kind.fields}
        return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}

    def _expanded(self, field: Field, depth: int | None) -> list[Json]:
        """The entries that a reference can be delivered as."""
        if depth == 0:
            return []
        found = []
        for target in targets_of(field, self._workspace):
            of_api = {"properties": {"_api": {"const": target.endpoint}}, "required": ["_api"]}
            for inside in [1, 0] if depth is None else [depth - 1]:
                entry = ref(self._names[target.uid] + _DEPTHS[inside])
                found.append(entry if field.targets is UNSET else {"allOf": [entry, {"type": "object", **of_api}]})
        return found


def _listed(parameter: Json, names: list[str]) -> Json:
    """Return the schema of a parameter that is a list of names."""
    return {**parameter["schema"], "items": {"type": "string", "enum": names}}


def _about(described: Api | Field, text: str) -> str:
    """Return a text with what its definition says of an API or field, in a paragraph of its own."""
    return f"{text}\n\n{described.description}" if described.description else text


def _languages(languages: tuple[str, ...]) -> str:
    main, *others = languages
    return ", ".join([f"`{main}`, the main language", *(f"`{one}`" for one in others)])


def _any_depth(name: str) -> Json:
    return {"anyOf": [ref(f"{name}{depth}") for depth in (*_DEPTHS.values(), "Part")]}


def _code(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _or_null(kind: str, nullable: bool) -> Any:
    return [kind, "null"] if nullable else kind

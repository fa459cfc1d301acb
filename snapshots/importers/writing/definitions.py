"""Write planned APIs as definitions that a workspace takes, and as files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from snapshots.definitions.fields import MAX_GROUPS
from snapshots.documents.document import SYSTEM_KEYS
from snapshots.importers.losses import Losses
from snapshots.importers.model import ApiPlan, FieldPlan, Imported
from snapshots.importers.names import api_uid, characters
from snapshots.importers.writing.yaml_text import inline
from snapshots.model import ApiKind, FieldType


def settle(apis: list[ApiPlan], losses: Losses) -> None:
    """Change plans into such that definitions can be made of: what no field type holds becomes one that does."""
    targets = {
        endpoint for api in apis for field in _every(api.fields) if field.is_reference for endpoint in field.apis
    }
    for api in apis:
        if api.kind is ApiKind.OBJECT and api.endpoint in targets:
            api.kind = ApiKind.LIST
        for field in api.fields:
            _settle(field, f"{api.endpoint}.{field.id}", 0, losses)


def _settle(field: FieldPlan, where: str, depth: int, losses: Losses) -> None:
    if field.options is not None:
        field.options = list(dict.fromkeys(filter(None, map(characters, field.options)))) or None
    if field.type is FieldType.REFERENCE and len(field.apis) > 1:
        field.type = FieldType.REFERENCES
        losses.add(
            where, "a reference to entries of several types", "only a list can have them: it is now a list of one"
        )
    if not field.is_group:
        return
    empty = not field.groups or any(not kind.id and not kind.fields for kind in field.groups)
    if depth >= MAX_GROUPS or empty:
        why = "a group without fields" if empty else f"groups can be nested {MAX_GROUPS} deep at most"
        losses.add(where, "the definition of a group", f"{why}: its values are now JSON")
        field.type, field.groups = FieldType.JSON, []
    for kind in field.groups:
        for inside in kind.fields:
            _settle(inside, f"{where}.{inside.id}", depth + 1, losses)


def _every(fields: list[FieldPlan]) -> Iterator[FieldPlan]:
    for field in fields:
        yield field
        for kind in field.groups:
            yield from _every(kind.fields)


def key_of(field_id: str) -> str:
    """Return the key of a document at which the value of a field stands: its ID, unless that says what a version is."""
    return f"{field_id}_value" if field_id in SYSTEM_KEYS else field_id


def workspace_text(imported: Imported, workspace_id: str, kind: str, hosts: list[str], classes: list[str]) -> str:
    """Return ``workspace.yaml``."""
    lines = [
        f"# Imported from {kind}.",
        f"id: {inline(workspace_id)}",
        *([f"name: {inline(imported.name)}"] if imported.name else ()),
        f"languages: {inline(imported.languages)}  # the first is the main language",
        "timezone: UTC  # dates without an offset are in it",
    ]
    if hosts or classes:
        lines += ["markdown:"]
    if hosts:
        lines += [f"  iframe_hosts: {inline(hosts)}  # the hosts of the frames that the content has"]
    if classes:
        lines += [f"  classes: {inline(classes)}  # give them the styles that they had on the old site"]
    return "\n".join(lines) + "\n"


def api_text(api: ApiPlan, kind: str) -> str:
    """Return the definition file of an API."""
    lines = [
        f"uid: {api_uid(kind, api.endpoint)}  # never change it: API keys refer to it",
        f"name: {inline(api.name or api.endpoint)}",
        f"endpoint: {inline(api.endpoint)}",
        f"kind: {api.kind.value}",
        *(["multilingual: true"] if api.multilingual else ()),
        *([f"hidden: {inline(api.hidden)}"] if api.hidden else ()),
        "fields:" if api.fields else "fields: []",
    ]
    for field in api.fields:
        lines += _field_lines(field, "  ", {"from": key_of(field.id)} if key_of(field.id) != field.id else {})
    return "\n".join(lines) + "\n"


def _field_lines(field: FieldPlan, indent: str, more: dict[str, Any]) -> Iterator[str]:
    facts: dict[str, Any] = {"id": field.id, **_name(field.id, field.name), "type": field.type.value, **more}
    if field.required:
        facts["required"] = True
    if field.options is not None:
        facts["options"] = field.options
    if len(field.apis) > 1:
        facts["apis"] = field.apis
    elif field.apis:
        facts["api"] = field.apis[0]
    if not field.groups:
        yield f"{indent}- {inline(facts)}"
        return
    first, *others = (f"{key}: {inline(value)}" for key, value in facts.items())
    yield f"{indent}- {first}"
    yield from (f"{indent}  {line}" for line in others)
    if not field.groups[0].id:
        yield f"{indent}  fields:"
        for inside in field.groups[0].fields:
            yield from _field_lines(inside, f"{indent}    ", {})
        return
    yield f"{indent}  groups:"
    for kind in field.groups:
        yield f"{indent}    - id: {inline(kind.id)}"
        yield from (f"{indent}      name: {inline(name)}" for name in _name(kind.id, kind.name).values())
        yield f"{indent}      fields:{'' if kind.fields else ' []'}"
        for inside in kind.fields:
            yield from _field_lines(inside, f"{indent}        ", {})


def _name(identifier: str, name: str) -> dict[str, str]:
    plain = " ".join(characters(name).split())
    return {"name": plain} if plain and plain != identifier else {}

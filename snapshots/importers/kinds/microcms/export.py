"""microCMS: for each API ``<endpoint>.json``, as its API answers, or CSV, and ``<endpoint>.schema.json``, its schema.

The answers may be those of the content API, with what the management API says of each content beside it (``status``,
``draftKey``, ``reservationTime``). ``<endpoint>.drafts.json`` has contents fetched with their draft keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from snapshots.ids import valid_id
from snapshots.importers.export import Export
from snapshots.importers.kinds.microcms.files import (
    ENVELOPE,
    OF_STATE,
    OWN,
    ApiFiles,
    api_files,
    contents_of,
    referred,
)
from snapshots.importers.losses import Losses, Unreadable
from snapshots.importers.model import ApiPlan, FieldPlan, GroupPlan, Imported, ImportedVersion
from snapshots.importers.names import endpoints, field_ids
from snapshots.importers.reading.json_items import document, members
from snapshots.importers.reading.shapes import listed, mapping, mappings, text
from snapshots.model import GROUP_KIND, ApiKind, FieldType, Status

_TYPES = {
    "text": FieldType.TEXT,
    "textArea": FieldType.TEXTAREA,
    "richEditor": FieldType.RICHTEXT,
    "richEditorV2": FieldType.RICHTEXT,
    "media": FieldType.IMAGE,
    "mediaList": FieldType.IMAGES,
    "date": FieldType.DATETIME,
    "boolean": FieldType.BOOLEAN,
    "number": FieldType.NUMBER,
    "select": FieldType.SINGLE_SELECT,
    "relation": FieldType.REFERENCE,
    "relationList": FieldType.REFERENCES,
    "custom": FieldType.GROUP,
    "repeater": FieldType.GROUPS,
    "file": FieldType.FILE,
    "iframe": FieldType.JSON,
}


class _Api(msgspec.Struct):
    """An API of the export: its files, and what becomes of its fields."""

    plan: ApiPlan
    files: ApiFiles
    fields: dict[str, Mapping[str, Any]]
    """The fields of the schema, by ID."""
    ids: dict[str, str]
    """The field IDs in the workspace, by field ID in microCMS."""
    kinds: dict[str, dict[str, dict[str, str]]]
    """The IDs of the fields in groups, by the field with groups and the kind of group."""
    leading_anywhere: list[tuple[tuple[str, ...], FieldPlan]]
    """References of which the schema does not say where they lead, each with the way to it."""

    def contents(self, losses: Losses) -> Iterator[dict[str, Any]]:
        """Return the contents, as microCMS answers them."""
        if self.files.contents is not None:
            yield from contents_of(self.files.contents, self.plan.kind, self.fields, losses)


def read(export: Export) -> Imported:
    """Return the content of a folder of microCMS answers, or CSV, and schemas."""
    files = api_files(export.path, export.losses)
    names = endpoints(one.name for one in files)
    apis = [_api(one, names, export.losses) for one in files]
    _find_targets(apis, export.losses)
    language = export.language or "ja"
    return Imported([api.plan for api in apis], _versions(apis, export.losses), [language])


def _find_targets(apis: list[_Api], losses: Losses) -> None:
    """Have references lead to the APIs that have the contents they name, where the schema does not say where."""
    open_ones = [(api, way, plan) for api in apis for way, plan in api.leading_anywhere]
    if not open_ones:
        return
    unheard = Losses()  # the contents are read again
    having: dict[str, set[str]] = {}
    for api in apis:
        for content in api.contents(unheard):
            having.setdefault(text(content.get("id")), set()).add(api.plan.endpoint)
    for api, way, plan in open_ones:
        named = {one for content in api.contents(unheard) for one in referred(content, way)}
        found = [having[one] for one in named if one in having]
        common = set.intersection(*found) if found else set()
        plan.apis = sorted(common)[:1] or sorted({endpoint for some in found for endpoint in some})
        where = f"{api.plan.endpoint}.{'.'.join(way)}"
        if not plan.apis:
            why = "the schema does not say where it leads, and no API has what it names: it keeps the IDs alone"
            losses.add(where, "the target of a reference", why)
        elif len(common) > 1:
            why = f"the schema does not say where it leads: it is now {plan.apis[0]}, though others have the IDs too"
            losses.add(where, "the target of a reference", why)


def _api(files: ApiFiles, names: Mapping[str, str], losses: Losses) -> _Api:
    path, name = files.schema, files.name
    schema = document(path)
    fields = schema.get("apiFields") if isinstance(schema, dict) else None
    if not isinstance(fields, list):
        raise Unreadable(f"{path.name}: there is no list 'apiFields': it is not a schema of microCMS.")
    customs = {
        str(one.get("createdAt")): one for one in mappings(schema.get("customFields")) if text(one.get("fieldId"))
    }
    said = schema.get("apiType")
    is_object = "OBJECT" in said if isinstance(said, (list, str)) else _is_object(files.contents)
    plan = ApiPlan(names[name], str(schema.get("apiName") or name), [], ApiKind.OBJECT if is_object else ApiKind.LIST)
    own = [field for field in mappings(fields) if text(field.get("fieldId"))]
    api = _Api(plan, files, {str(field["fieldId"]): field for field in own}, {}, {}, [])
    api.ids = field_ids(api.fields)
    for old, new in api.ids.items():
        if old != new:
            losses.add(plan.endpoint, f"the field ID {old}", f"it is reserved or in use already: it is now {new}")
    plan.fields = [_field(field, api, customs, names, losses) for field in api.fields.values()]
    return api


def _is_object(contents: Path | None) -> bool:
    return (
        contents is not None
        and contents.suffix == ".json"
        and not any(key in ENVELOPE or not key for key, _ in members(contents))
    )


def _field(
    field: Mapping[str, Any], api: _Api, customs: Mapping[str, Any], names: Mapping[str, str], losses: Losses
) -> FieldPlan:
    old, kind = str(field["fieldId"]), str(field.get("kind"))
    made = _plain(field, api.ids[old], f"{api.plan.endpoint}.{old}", names, losses)
    if _leads_anywhere(field, made):
        api.leading_anywhere.append(((old,), made))
    if (made.type.facts.is_array and kind == "repeater") or kind == "custom":
        created = listed(field.get("customFieldCreatedAtList" if kind == "repeater" else "customFieldCreatedAt"))
        found = [customs[str(one)] for one in created if str(one) in customs]
        api.kinds[old] = {}
        single = kind == "custom" or len(found) == 1
        ids = field_ids((str(one["fieldId"]) for one in found), in_group=True)
        for custom in found:
            inside = [one for one in mappings(custom.get("fields")) if text(one.get("fieldId"))]
            members_ids = field_ids((str(one["fieldId"]) for one in inside), in_group=True)
            where = f"{api.plan.endpoint}.{old}"
            plans = [_plain(one, members_ids[str(one["fieldId"])], where, names, losses) for one in inside]
            pairs = zip(inside, plans, strict=True)
            api.leading_anywhere += [
                ((old, str(one["fieldId"])), plan) for one, plan in pairs if _leads_anywhere(one, plan)
            ]
            own = str(custom["fieldId"])
            made.groups.append(GroupPlan("" if single else ids[own], str(custom.get("name") or own), plans))
            api.kinds[old]["" if single else own] = members_ids
    return made


def _target(field: Mapping[str, Any]) -> str:
    return text(field.get("referencedApiEndpoint")) or text(field.get("referenceKey"))


def _leads_anywhere(field: Mapping[str, Any], plan: FieldPlan) -> bool:
    return plan.is_reference and not _target(field)


def _plain(field: Mapping[str, Any], made_id: str, where: str, names: Mapping[str, str], losses: Losses) -> FieldPlan:
    kind = str(field.get("kind"))
    known = _TYPES.get(kind)
    if known is None:
        losses.add(where, "the type of a field", f"the kind {kind!r} is not known: its values are now JSON")
    elif kind == "iframe":
        losses.add(where, "an extension field", "extensions run in microCMS: the data they saved are now JSON")
    made = FieldPlan(made_id, known or FieldType.JSON, str(field.get("name") or ""), bool(field.get("required")))
    if kind == "select":
        if field.get("multipleSelect"):
            made.type = FieldType.MULTIPLE_SELECT
        items = [one for one in mappings(field.get("selectItems")) if text(one.get("value"))]
        made.options = list(dict.fromkeys(str(one["value"]) for one in items)) or None
    if made.is_reference:
        target = _target(field)
        made.apis = [names[target]] if target in names else []
        if target and target not in names:
            losses.add(where, "a reference", f"the export has no API {target!r}: it keeps the IDs alone")
    return made


def _versions(apis: list[_Api], losses: Losses) -> Iterator[ImportedVersion]:
    for api in apis:
        if api.files.contents is None:
            losses.add(f"{api.files.name}.json", "the contents of an API", "the export has its schema alone")
        for path, is_draft in ((api.files.contents, False), (api.files.drafts, True)):
            if path is not None:
                for content in contents_of(path, api.plan.kind, api.fields, losses):
                    yield _version(api, content, path.name, losses, is_draft=is_draft)


def _version(api: _Api, content: Mapping[str, Any], file: str, losses: Losses, *, is_draft: bool) -> ImportedVersion:
    made_id = str(content.get("id") or api.plan.endpoint)
    values: dict[str, Any] = {}
    for old, new in api.ids.items():
        if old in content:
            values[new] = _value(
                content[old], next(one for one in api.plan.fields if one.id == new), api.kinds.get(old)
            )
    for name, value in content.items():
        if name not in api.ids and name not in OWN | OF_STATE:
            values[name] = value  # which the writer reports
    said = content.get("status")
    states = {one for one in listed(said) if isinstance(one, str)}
    period = mapping(content.get("reservationTime")) if "reservationTime" not in api.ids else {}
    start, end = period.get("publishTime"), period.get("stopTime")
    status = Status.PUBLISHED
    if "status" not in api.ids and states and not states & {"PUBLISH", "PUBLISH_AND_DRAFT"}:
        status = Status.SCHEDULED if start and "CLOSED" not in states else Status.DRAFT
    elif not states and "createdAt" in content and not content.get("publishedAt"):
        status = Status.SCHEDULED if start else Status.DRAFT
    updated, revised = content.get("updatedAt"), content.get("revisedAt")
    if revised and revised != updated and "revisedAt" not in api.ids:
        why = "an entry has one date of its last change here: updatedAt is that of microCMS"
        if not updated:
            why = "an entry has one date of its last change here: it is now updatedAt, which the export lacks"
        losses.add(f"{file}: {made_id}", "revisedAt", why)
    key = content.get("draftKey")
    return ImportedVersion(
        api.plan.endpoint,
        made_id,
        values,
        is_draft=is_draft,
        status=Status.PUBLISHED if is_draft else status,
        created=content.get("createdAt"),
        updated=updated or revised,
        published=content.get("publishedAt"),
        publish_start=start if status is Status.SCHEDULED else None,
        publish_end=end,
        draft_key=key if isinstance(key, str) and "draftKey" not in api.ids and valid_id(key) else None,
        where=f"{file}: {made_id}",
    )


def _value(raw: Any, field: FieldPlan, kinds: Mapping[str, Mapping[str, str]] | None) -> Any:
    if kinds is not None and field.is_group:  # else none of its kinds has fields
        return [_group(one, field, kinds) if isinstance(one, dict) else one for one in listed(raw)]
    if field.is_reference:
        return [one.get("id") if isinstance(one, dict) else one for one in listed(raw)]
    return raw


def _group(raw: Mapping[str, Any], field: FieldPlan, kinds: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    own = str(raw.get(GROUP_KIND) or "")
    ids = kinds.get("") or kinds.get(own) or {}
    of_kind = dict(zip(kinds, field.groups, strict=True)).get("" if "" in kinds else own)
    plans = {one.id: one for one in of_kind.fields} if of_kind is not None else {}
    made = {ids.get(name, name): raw[name] for name in raw if name != GROUP_KIND}
    made = {name: _value(value, plans[name], None) if name in plans else value for name, value in made.items()}
    return made if of_kind is not None and not of_kind.id else {GROUP_KIND: of_kind.id if of_kind else own, **made}

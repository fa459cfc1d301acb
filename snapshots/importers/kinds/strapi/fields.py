"""Turn Strapi's schemas and values into fields and values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from snapshots.definitions.fields import MAX_GROUPS
from snapshots.importers.export import Export
from snapshots.importers.kinds.strapi.blocks import blocks_html
from snapshots.importers.kinds.strapi.links import ExportLinks
from snapshots.importers.losses import EMAILS, Losses
from snapshots.importers.model import ApiPlan, FieldPlan, GroupPlan
from snapshots.importers.names import endpoints, field_ids
from snapshots.importers.reading.shapes import at, listed, mapping, mappings, text
from snapshots.model import GROUP_KIND, ApiKind, FieldType

_TYPES = {
    **dict.fromkeys(("string", "uid", "email", "biginteger", "time"), FieldType.TEXT),
    **dict.fromkeys(("integer", "float", "decimal"), FieldType.NUMBER),
    **dict.fromkeys(("date", "datetime", "timestamp"), FieldType.DATETIME),
    **dict.fromkeys(("richtext", "blocks"), FieldType.RICHTEXT),
    "text": FieldType.TEXTAREA,
    "boolean": FieldType.BOOLEAN,
    "enumeration": FieldType.SINGLE_SELECT,
    "json": FieldType.JSON,
}
_OWN = frozenset(
    {"id", "documentId", "createdAt", "updatedAt", "publishedAt", "createdBy", "updatedBy", "locale", "localizations"}
)
_MANY = frozenset({"oneToMany", "manyToMany", "morphToMany", "manyToManyMorph"})


class Type(msgspec.Struct):
    """A content type or a component: its attributes, and what becomes of them."""

    uid: str
    attributes: dict[str, Mapping[str, Any]]
    ids: dict[str, str]
    plan: ApiPlan
    kinds: dict[str, list[Type]] = {}
    """The components in an attribute."""


class Files:
    """The uploaded files."""

    def __init__(self, export: Export, root: Path, files: Mapping[str, Mapping[str, Any]]) -> None:
        self._export, self._root, self._files = export, root, files
        self._by_url = {text(file.get("url")): number for number, file in files.items()}

    def is_image(self, number: str) -> bool:
        """Return whether a file is an image."""
        return text(at(self._files.get(number), "mime")).startswith("image/")

    def record(self, number: str, where: str) -> dict[str, Any] | None:
        """Return the address of a file and its facts; ``None`` where the export does not know it."""
        file = self._files.get(number)
        if file is None:
            return None
        if file.get("caption"):
            self._export.losses.add(where, "the caption of a picture", "an image has no caption here: add a field")
        size = file.get("size")
        return {
            "url": self._address(file, where),
            "width": file.get("width"),
            "height": file.get("height"),
            "alt": file.get("alternativeText"),
            "fileSize": round(size * 1000) if isinstance(size, (int, float)) else None,
        }

    def address(self, url: str) -> str | None:
        """Return the address of the copy of a file that a rich text names by its own."""
        number = self._by_url.get(url)
        return None if number is None else self._address(self._files[number], f"file {number}")

    def _address(self, file: Mapping[str, Any], where: str) -> str:
        url, name = text(file.get("url")), text(file.get("hash")) + text(file.get("ext"))
        if "/" in name or not name:
            return url
        made = self._export.copies.address(
            [self._root / "assets/uploads" / name], self._root, text(file.get("name")) or name, url, where
        )
        if made.startswith("/"):
            why = "it is relative to the server of Strapi: with --assets the export's files are copied"
            self._export.losses.add(where, "the address of a file", why)
        return made


class Model:
    """Says what becomes of content types, and of the values of rows."""

    def __init__(
        self,
        schemas: Mapping[str, Mapping[str, Any]],
        links: ExportLinks,
        files: Files,
        document: Callable[[str, str], str | None],
        losses: Losses,
    ) -> None:
        """``document`` gives the ID of the entry of which a row of a type is a version."""
        self._schemas, self._links, self.files, self._document, self._losses = schemas, links, files, document, losses
        kinds = [uid for uid in schemas if uid.startswith("api::")]
        names = [self._name(uid) for uid in kinds]
        plain = {uid: name if names.count(name) == 1 else uid for uid, name in zip(kinds, names, strict=True)}
        made = endpoints(plain.values())
        self._endpoints = {uid: made[name] for uid, name in plain.items()}
        self._types = {uid: self._type(uid, 0, self._endpoints[uid]) for uid in kinds}

    def plans(self) -> list[ApiPlan]:
        """Return the APIs of the content types."""
        return [one.plan for one in self._types.values()]

    def type(self, uid: str) -> Type:
        """Return a content type."""
        return self._types[uid]

    def _name(self, uid: str) -> str:
        info = mapping(self._schemas[uid].get("info"))
        single = self._schemas[uid].get("kind") == "singleType"
        return text(info.get("singularName" if single else "pluralName")) or uid.rpartition(".")[2] or uid

    def _type(self, uid: str, depth: int, where: str) -> Type:
        schema = mapping(self._schemas.get(uid))
        attributes = {name: mapping(one) for name, one in mapping(schema.get("attributes")).items() if name not in _OWN}
        for name, one in list(attributes.items()):
            why = self._left_out(one)
            if why is not None:
                self._losses.add(where, f"the attribute {name!r}", why)
                del attributes[name]
        kind = ApiKind.OBJECT if schema.get("kind") == "singleType" else ApiKind.LIST
        title = text(at(schema, "info", "displayName")) or where
        made = Type(uid, attributes, field_ids(attributes, in_group=depth > 0), ApiPlan(where, title, [], kind))
        for name, one in attributes.items():
            if made.ids[name] != name:
                self._losses.add(
                    where, f"the field ID {name}", f"it is reserved or in use already: it is now {made.ids[name]}"
                )
            made.plan.fields.append(self._field(made, name, one, depth, f"{where}.{name}"))
        return made

    def _left_out(self, attribute: Mapping[str, Any]) -> str | None:
        if attribute.get("type") == "password":
            return "passwords are not content"
        if attribute.get("type") == "email":
            return EMAILS
        if attribute.get("private") is True:
            return "it is private, and content is public"
        target = attribute.get("target")
        if isinstance(target, str) and attribute.get("type") == "relation" and target not in self._schemas_of_content():
            return f"it leads to {target}, which is not content"
        return None

    def _schemas_of_content(self) -> set[str]:
        return {uid for uid in self._schemas if uid.startswith("api::")}

    def _field(self, owner: Type, name: str, attribute: Mapping[str, Any], depth: int, where: str) -> FieldPlan:
        said = text(attribute.get("type"))
        plan = FieldPlan(owner.ids[name], _TYPES.get(said, FieldType.JSON), "", attribute.get("required") is True)
        match said:
            case "richtext":
                plan.markdown = True
            case "enumeration":
                plan.options = (
                    list(dict.fromkeys(text(one) for one in listed(attribute.get("enum")) if text(one))) or None
                )
            case "media":
                self._media(owner.uid, name, attribute, plan)
            case "relation":
                many = text(attribute.get("relation")) in _MANY
                plan.type = FieldType.REFERENCES if many else FieldType.REFERENCE
                targets = (
                    {text(attribute.get("target"))}
                    if attribute.get("target")
                    else self._links.types_of_field(owner.uid, name)
                )
                plan.apis = [endpoint for uid, endpoint in self._endpoints.items() if uid in targets]
            case "component" | "dynamiczone" if depth < MAX_GROUPS:
                single = said == "component"
                uids = (
                    [text(attribute.get("component"))]
                    if single
                    else [text(one) for one in listed(attribute.get("components"))]
                )
                owner.kinds[name] = [self._type(uid, depth + 1, where) for uid in uids]
                plan.type = FieldType.GROUP if single and attribute.get("repeatable") is not True else FieldType.GROUPS
                ids = field_ids(uids, in_group=True)
                kinds = zip(uids, owner.kinds[name], strict=True)
                plan.groups = [
                    GroupPlan("" if single else ids[uid], one.plan.name, one.plan.fields) for uid, one in kinds
                ]
        return plan

    def _media(self, uid: str, name: str, attribute: Mapping[str, Any], plan: FieldPlan) -> None:
        many = attribute.get("multiple") is True
        used = [self.files.is_image(number) for number in self._links.files_of_field(uid, name)]
        if (
            all(used)
            if used
            else "images" in listed(attribute.get("allowedTypes")) or not attribute.get("allowedTypes")
        ):
            plan.type = FieldType.IMAGES if many else FieldType.IMAGE
        elif many:
            plan.type, plan.groups = FieldType.GROUPS, [GroupPlan("", "", [FieldPlan("file", FieldType.FILE)])]
        else:
            plan.type = FieldType.FILE

    def values(self, made: Type, data: Mapping[str, Any], uid: str, number: str, where: str) -> dict[str, Any]:
        """Return the values of a row, by field ID. ``number`` is the row's, or the component's."""
        values = {}
        for (name, attribute), plan in zip(made.attributes.items(), made.plan.fields, strict=True):
            values[plan.id] = self._value(made, name, attribute, plan, data.get(name), uid, number, where)
        return values

    def _value(
        self,
        made: Type,
        name: str,
        attribute: Mapping[str, Any],
        plan: FieldPlan,
        raw: Any,
        uid: str,
        number: str,
        where: str,
    ) -> Any:
        match text(attribute.get("type")):
            case "blocks":
                return blocks_html(raw, lambda what, why: self._losses.add(where, what, why, scope=made.plan.endpoint))
            case "media":
                return self._records(plan, self._links.files(uid, number, name), where)
            case "relation":
                inverse = attribute.get("mappedBy")
                if isinstance(inverse, str):
                    ends = self._links.sources(text(attribute.get("target")), inverse, number)
                else:
                    ends = self._links.targets(uid, number, name)
                return self._references(ends, where, made.plan.endpoint)
            case "component" | "dynamiczone" if plan.is_group:
                several = plan.groups[0].id != "" if plan.groups else False
                groups = []
                for one in mappings(listed(raw)):
                    kinds = {component.uid: at for at, component in enumerate(made.kinds[name])}
                    position = kinds.get(text(one.get("__component"))) if several else 0
                    if position is None:
                        groups.append({GROUP_KIND: text(one.get("__component"))})
                        continue
                    component = made.kinds[name][position]
                    inside = self.values(component, one, component.uid, text(one.get("id")), where)
                    groups.append({GROUP_KIND: plan.groups[position].id, **inside} if several else inside)
                return groups
        return raw

    def _records(self, plan: FieldPlan, numbers: list[str], where: str) -> list[Any]:
        found = []
        for number in numbers:
            record = self.files.record(number, where)
            if record is None:
                self._losses.add(where, "a picture or file", "the export does not know it")
            else:
                found.append({"file": record} if plan.is_group else record)
        return found

    def _references(self, ends: list[tuple[str, str]], where: str, scope: str) -> list[Any]:
        found: dict[tuple[str, str], None] = {}
        for kind, number in ends:
            document = self._document(kind, number)
            if document is None or kind not in self._endpoints:
                self._losses.add(
                    where, "a reference", "the export does not have the entry that it leads to", scope=scope
                )
            else:
                found[self._endpoints[kind], document] = None
        return [{"api": endpoint, "id": document} for endpoint, document in found]

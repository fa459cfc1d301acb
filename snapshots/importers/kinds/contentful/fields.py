"""Turn Contentful's content types and values into fields and values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from snapshots.importers.kinds.contentful.rich_text import rich_text_html
from snapshots.importers.losses import Losses
from snapshots.importers.model import ApiPlan, FieldPlan, GroupPlan
from snapshots.importers.names import endpoints, field_ids
from snapshots.importers.reading.shapes import at, listed, mapping, mappings, text
from snapshots.model import FieldType

_TYPES = {
    "Symbol": FieldType.TEXT,
    "Text": FieldType.TEXTAREA,
    "RichText": FieldType.RICHTEXT,
    "Integer": FieldType.NUMBER,
    "Number": FieldType.NUMBER,
    "Date": FieldType.DATETIME,
    "Boolean": FieldType.BOOLEAN,
    "Location": FieldType.JSON,
    "Object": FieldType.JSON,
    "ResourceLink": FieldType.JSON,
}
_MAX_DEPTH = 200


class ExportedAsset(msgspec.Struct):
    """An asset of the export, by locale."""

    files: Mapping[str, Any]
    titles: Mapping[str, Any]
    alts: Mapping[str, Any]
    copied: Callable[[str, str, str], str] = lambda url, _name, _where: url

    def record(self, locale: str, where: str) -> dict[str, Any] | None:
        """Return an asset's address and facts; ``None`` where it has no file."""
        file = _in(self.files, locale)
        if not isinstance(file, Mapping) or not (file.get("url") or file.get("upload")):
            return None
        url = str(file.get("url") or file.get("upload"))
        image = mapping(at(file, "details", "image"))
        return {
            "url": self.copied(
                f"https:{url}" if url.startswith("//") else url, str(file.get("fileName") or "file"), where
            ),
            "width": image.get("width"),
            "height": image.get("height"),
            "alt": _in(self.alts, locale) or _in(self.titles, locale),
            "fileSize": at(file, "details", "size"),
        }

    @property
    def is_image(self) -> bool:
        return any(
            str(one.get("contentType")).startswith("image/") for one in self.files.values() if isinstance(one, Mapping)
        )


class ContentField(msgspec.Struct):
    """A field of a content type, and what becomes of it."""

    facts: Mapping[str, Any]
    plan: FieldPlan
    entries: FieldPlan | None = None
    """The field that lists the entries inside a rich text."""


class Type(msgspec.Struct):
    """A content type."""

    facts: Mapping[str, Any]
    plan: ApiPlan
    fields: dict[str, ContentField] = {}
    """By its ID in Contentful; omitted ones are not among them."""

    def is_localized(self, name: str) -> bool:
        """Return whether a field has a value for each locale."""
        return name in self.fields and bool(self.fields[name].facts.get("localized"))

    def is_omitted(self, name: str) -> bool:
        """Return whether Contentful's own API leaves a field out."""
        return any(one.get("id") == name for one in _fields(self.facts))


class Model:
    """Gathers content types, assets and links in a first reading."""

    def __init__(self, losses: Losses) -> None:
        self._losses = losses
        self._facts: dict[str, Mapping[str, Any]] = {}
        self._markdown: set[tuple[str, str]] = set()
        self._types_of: dict[str, str] = {}
        """The content type of each entry, by ID."""
        self._links: dict[tuple[str, str], set[str]] = {}
        """The IDs of the entries and assets that a field leads to, by content type and field."""
        self.assets: dict[str, ExportedAsset] = {}
        self._types: dict[str, Type] = {}

    def note_type(self, facts: Mapping[str, Any]) -> None:
        """Note a content type."""
        self._facts[_id(facts)] = facts

    def note_editor(self, facts: Mapping[str, Any]) -> None:
        """Note which fields people edit as Markdown."""
        kind = text(at(facts, "sys", "contentType", "sys", "id"))
        for control in mappings(facts.get("controls")):
            if control.get("widgetId") == "markdown":
                self._markdown.add((kind, str(control.get("fieldId"))))

    def note_entry(self, entry: Mapping[str, Any]) -> None:
        """Note an entry's type, and where its links lead."""
        kind = _kind_of(entry)
        self._types_of[_id(entry)] = kind
        for name, by_locale in mapping(entry.get("fields")).items():
            for value in mapping(by_locale).values():
                found = {one for one, _ in _linked(value)}
                if found:
                    self._links.setdefault((kind, name), set()).update(found)

    def note_asset(self, asset: Mapping[str, Any]) -> None:
        """Note an asset."""
        files, titles, alts = (mapping(at(asset, "fields", name)) for name in ("file", "title", "description"))
        self.assets[_id(asset)] = ExportedAsset(files, titles, alts)

    def plans(self) -> list[ApiPlan]:
        """Return the APIs of the content types."""
        names = endpoints(self._facts)
        for kind, facts in self._facts.items():
            made = Type(facts, ApiPlan(names[kind], str(facts.get("name") or kind), []))
            own = _fields(facts)
            ids = field_ids([str(one["id"]) for one in own] + [f"{one['id']}Entries" for one in own])
            for one in own:
                name = str(one["id"])
                if one.get("omitted"):
                    self._losses.add(
                        made.plan.endpoint, f"the field {name!r}", "it is omitted from the API of Contentful"
                    )
                    continue
                if ids[name] != name:
                    why = f"it is reserved or in use already: it is now {ids[name]}"
                    self._losses.add(made.plan.endpoint, f"the field ID {name}", why)
                made.fields[name] = self._field(kind, one, ids, names)
            made.plan.fields = [
                plan for one in made.fields.values() for plan in (one.plan, one.entries) if plan is not None
            ]
            self._types[kind] = made
        return [one.plan for one in self._types.values()]

    def _field(
        self, kind: str, facts: Mapping[str, Any], ids: Mapping[str, str], names: Mapping[str, str]
    ) -> ContentField:
        name, said = str(facts["id"]), str(facts.get("type"))
        items = mapping(facts.get("items")) if said == "Array" else facts
        plan = FieldPlan(ids[name], FieldType.JSON, str(facts.get("name") or ""), bool(facts.get("required")))
        made = ContentField(facts, plan)
        link = items.get("linkType") if items.get("type") == "Link" else None
        is_array = said == "Array"
        options = _validation(items, "in")
        if link == "Entry":
            plan.type = FieldType.REFERENCES if is_array else FieldType.REFERENCE
            stated = _validation(items, "linkContentType")
            stated = listed(stated)
            used = {self._types_of[one] for one in self._links.get((kind, name), ()) if one in self._types_of}
            kinds = [one for one in names if one in stated] if stated else [one for one in names if one in used]
            plan.apis = [names[one] for one in kinds or names]
        elif link == "Asset":
            known = [self.assets[one] for one in self._links.get((kind, name), ()) if one in self.assets]
            groups = _validation(items, "linkMimetypeGroup")
            if groups == ["image"] or (known and all(one.is_image for one in known)):
                plan.type = FieldType.IMAGES if is_array else FieldType.IMAGE
            elif is_array:
                fields = [FieldPlan("file", FieldType.FILE), FieldPlan("title", FieldType.TEXT)]
                plan.type, plan.groups = FieldType.GROUPS, [GroupPlan("", "", fields)]
            else:
                plan.type = FieldType.FILE
        elif is_array and items.get("type") == "Symbol":
            plan.type, plan.options = FieldType.MULTIPLE_SELECT, _texts(options)
        elif said == "Symbol" and _texts(options):
            plan.type, plan.options = FieldType.SINGLE_SELECT, _texts(options)
        elif said in _TYPES:
            plan.type = _TYPES[said]
        if said == "Text" and (kind, name) in self._markdown:
            plan.type, plan.markdown = FieldType.RICHTEXT, True
        if said == "RichText":
            used = {self._types_of[one] for one in self._links.get((kind, name), ()) if one in self._types_of}
            if used:
                about = f"{facts.get('name') or name}: entries"
                apis = [names[one] for one in names if one in used]
                made.entries = FieldPlan(ids[f"{name}Entries"], FieldType.REFERENCES, about, apis=apis)
        return made

    def type_of(self, entry: Mapping[str, Any]) -> Type | None:
        """Return the content type of an entry."""
        return self._types.get(_kind_of(entry))

    def reference(self, wanted: str) -> dict[str, str] | None:
        """Return the reference to an entry; ``None`` where the export does not have it."""
        made = self._types.get(self._types_of.get(wanted, ""))
        return None if made is None else {"api": made.plan.endpoint, "id": wanted}

    def tell(self, where: str, what: str, why: str, scope: str = "") -> None:
        """Report a loss."""
        self._losses.add(where, what, why, scope=scope)


def value_of(field: ContentField, raw: Any, model: Model, locale: str, where: str) -> dict[str, Any]:
    """Return the values of a field in one locale: its own and, for a rich text, the entries inside it."""
    plan = field.plan
    if plan.type is FieldType.RICHTEXT and not plan.markdown:

        def asset(wanted: str) -> tuple[str, str, bool] | None:
            found = model.assets.get(wanted)
            record = found.record(locale, where) if found is not None else None
            return (
                None if found is None or record is None else (record["url"], str(record["alt"] or ""), found.is_image)
            )

        made: dict[str, Any] = {plan.id: rich_text_html(raw, asset, lambda what, why: model.tell(where, what, why))}
        if field.entries is not None:
            linked = (model.reference(one) for one, is_entry in _linked(raw) if is_entry)
            made[field.entries.id] = [one for one in linked if one is not None]
        return made
    if plan.is_reference:
        return {plan.id: [_entry(one, model, where) for one in listed(raw)]}
    if plan.type in (FieldType.IMAGE, FieldType.IMAGES, FieldType.FILE, FieldType.GROUPS):
        many = [_asset(one, plan, model, locale, where) for one in listed(raw)]
        return {plan.id: [one for one in many if one is not None]}
    return {plan.id: raw}


def _entry(raw: Any, model: Model, where: str) -> Any:
    found = model.reference(text(at(raw, "sys", "id")))
    if found is None:
        model.tell(where, "a reference", "the export does not have the entry that it leads to")
    return found


def _asset(raw: Any, plan: FieldPlan, model: Model, locale: str, where: str) -> dict[str, Any] | None:
    found = model.assets.get(text(at(raw, "sys", "id")))
    record = found.record(locale, where) if found is not None else None
    if record is None:
        model.tell(where, "a picture or file", "the export does not contain its asset")
        return None
    return {"file": record, "title": record["alt"]} if plan.type is FieldType.GROUPS else record


def _linked(value: Any, depth: int = 0) -> list[tuple[str, bool]]:
    """Return the IDs of all links in a value, in their order, each with whether it leads to an entry."""
    if depth > _MAX_DEPTH:
        return []
    if isinstance(value, list):
        return [one for item in value for one in _linked(item, depth + 1)]
    if not isinstance(value, Mapping):
        return []
    sys = value.get("sys")
    if isinstance(sys, Mapping) and sys.get("type") == "Link":
        return [(str(sys.get("id")), sys.get("linkType") == "Entry")]
    return [one for item in value.values() for one in _linked(item, depth + 1)]


def _validation(facts: Mapping[str, Any], name: str) -> Any:
    return next((one[name] for one in mappings(facts.get("validations")) if one.get(name)), None)


def _texts(options: Any) -> list[str] | None:
    texts = [one for one in options if isinstance(one, str) and one] if isinstance(options, list) else []
    return list(dict.fromkeys(texts)) or None


def _fields(facts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one in mappings(facts.get("fields")) if text(one.get("id"))]


def _kind_of(entry: Mapping[str, Any]) -> str:
    return text(at(entry, "sys", "contentType", "sys", "id"))


def _id(facts: Mapping[str, Any]) -> str:
    return text(at(facts, "sys", "id"))


def _in(by_locale: Mapping[str, Any], locale: str) -> Any:
    return by_locale.get(locale, next(iter(by_locale.values()), None))

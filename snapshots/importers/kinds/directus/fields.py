"""Turn Directus' collections, fields and values into fields and values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from snapshots.importers.kinds.directus.relations import Relation, Relations
from snapshots.importers.kinds.directus.rows import ExportRows
from snapshots.importers.kinds.directus.states import StateField, state_fields
from snapshots.importers.losses import EMAILS, Losses
from snapshots.importers.model import ApiPlan, FieldPlan, GroupPlan
from snapshots.importers.names import endpoints, field_ids
from snapshots.importers.reading.shapes import at, listed, mapping, mappings, text
from snapshots.model import ApiKind, FieldType

FILES = "directus_files"
_TYPES = {
    **dict.fromkeys(("string", "uuid", "time", "bigInteger"), FieldType.TEXT),
    **dict.fromkeys(("integer", "float", "decimal"), FieldType.NUMBER),
    **dict.fromkeys(("date", "dateTime", "timestamp"), FieldType.DATETIME),
    "text": FieldType.TEXTAREA,
    "boolean": FieldType.BOOLEAN,
    "csv": FieldType.MULTIPLE_SELECT,
}
_LISTS = frozenset({"tags", "select-multiple-checkbox", "select-multiple-dropdown", "select-multiple-checkbox-tree"})
_EMAIL = re.compile(r"(?:.*_)?e?-?mail(?:_?address)?", re.IGNORECASE)
"""Names of fields with an e-mail address."""
_NO_DATA = frozenset({"no-data", "group"})


class Type(msgspec.Struct):
    """A collection that becomes an API."""

    collection: str
    key: str
    plan: ApiPlan
    facts: dict[str, Mapping[str, Any]]
    """The collection's fields that become fields, by name, with the fields of its table of translations."""
    plans: dict[str, FieldPlan]
    translated: tuple[str, ...] = ()
    created: str = ""
    updated: str = ""
    states: tuple[StateField, ...] = ()
    translated_states: tuple[StateField, ...] = ()
    """The state fields of the table of translations, where each language has a state of its own."""


class Model:
    """Says what becomes of collections, and of the values of rows."""

    def __init__(
        self,
        collections: Sequence[Mapping[str, Any]],
        fields: Sequence[Mapping[str, Any]],
        relations: Relations,
        rows: ExportRows,
        losses: Losses,
    ) -> None:
        self._relations, self._rows, self._losses = relations, rows, losses
        self._fields: dict[str, list[Mapping[str, Any]]] = {}
        for one in fields:
            self._fields.setdefault(text(one.get("collection")), []).append(one)
        self._collections = {text(one.get("collection")): one for one in collections}
        self._language_table = ""
        self._between = self._tables_between()
        kept = [
            one
            for one in collections
            if isinstance(one.get("schema"), Mapping) and not text(one.get("collection")).startswith("directus_")
            if text(one.get("collection")) not in {*self._between, self._language_table, ""}
        ]
        self._endpoints = endpoints(text(one.get("collection")) for one in kept)
        self._types = [self._type(one) for one in kept]

    def endpoint(self, collection: str) -> str | None:
        """Return the endpoint of a collection; ``None`` for one that becomes no API."""
        return self._endpoints.get(collection)

    def types(self) -> list[Type]:
        """Return the collections that become APIs."""
        return self._types

    def plans(self) -> list[ApiPlan]:
        """Return the APIs."""
        return [one.plan for one in self._types]

    def languages(self) -> list[str]:
        """Return the codes of the table of languages, in order."""
        if not self._language_table:
            return []
        key = self.key(self._language_table)
        return [text(row.get(key)) for row in self._rows.of(self._language_table)]

    def default_language(self) -> str:
        """Return the language that the fields of translations name as the first; an empty text if they name none."""
        for fields in self._fields.values():
            for one in fields:
                said = text(at(one, "meta", "options", "defaultLanguage"))
                if "translations" in _special(one) and said:
                    return said
        return ""

    def _tables_between(self) -> set[str]:
        """Return the tables that only join others, those of translations too."""
        found = set()
        for collection, fields in self._fields.items():
            for one in fields:
                relation = self._relations.listing(collection, text(one.get("field")))
                special = _special(one)
                across = None if relation is None else self._relations.across(relation)
                if relation is not None and across is not None:
                    found.add(relation.collection)
                    if "translations" in special:
                        self._language_table = across.target
        return found

    def key(self, collection: str) -> str:
        """Return the field with the key of a collection's rows."""
        fields = self._fields.get(collection, ())
        return next((text(one.get("field")) for one in fields if at(one, "schema", "is_primary_key") is True), "id")

    def _type(self, collection: Mapping[str, Any]) -> Type:
        name = text(collection.get("collection"))
        kind = ApiKind.OBJECT if at(collection, "meta", "singleton") is True else ApiKind.LIST
        made = Type(name, self.key(name), ApiPlan(self._endpoints[name], name, [], kind), {}, {})
        facts = self._fields.get(name, [])
        made.states = state_fields(collection, facts)
        for one in facts:
            self._note(made, one)
        table = self.translations_of(made)
        if table is not None:
            columns = self._fields.get(table.collection, [])
            made.translated_states = state_fields(self._collections.get(table.collection, {}), columns)
            skipped = {self.key(table.collection), table.field, table.junction}
            skipped |= {one.name for one in made.translated_states}
            own = [one for one in columns if text(one.get("field")) not in skipped]
            system = ("user-created", "user-updated", "date-created", "date-updated")
            own = [one for one in own if not _special(one) & set(system)]
            made.translated = tuple(text(one.get("field")) for one in own)
            made.facts |= {text(one.get("field")): one for one in own}
        ids = field_ids(made.facts)
        for field, one in made.facts.items():
            plan = self._field(made, field, one, ids[field])
            if plan is not None:
                made.plans[field] = plan
        made.plan.fields = list(made.plans.values())
        return made

    def _note(self, made: Type, one: Mapping[str, Any]) -> None:
        """Note a field of a collection: one of its own, a date, or nothing that is kept."""
        field, special = text(one.get("field")), _special(one)
        if (
            field in (made.key, *(one.name for one in made.states))
            or special & _NO_DATA
            or "translations" in special
            or not field
        ):
            return
        if "date-created" in special:
            made.created = field
        elif "date-updated" in special:
            made.updated = field
        elif special & {"user-created", "user-updated"}:
            self._losses.add(made.plan.endpoint, f"the field {field!r}", "users of Directus are not content")
        elif one.get("type") in ("string", "text") and _EMAIL.fullmatch(field):
            self._losses.add(made.plan.endpoint, f"the field {field!r}", EMAILS)
        elif one.get("type") in ("hash", "binary") or "conceal" in special:
            self._losses.add(made.plan.endpoint, f"the field {field!r}", "secrets and binary data are not content")
        else:
            made.facts[field] = one

    def translations_of(self, made: Type) -> Relation | None:
        """Return the relation of the table of translations of a collection; ``None`` where it has none."""
        for one in self._fields.get(made.collection, []):
            if "translations" in _special(one):
                return self._relations.listing(made.collection, text(one.get("field")))
        return None

    def _field(self, made: Type, field: str, one: Mapping[str, Any], made_id: str) -> FieldPlan | None:
        said, interface = text(one.get("type")), text(at(one, "meta", "interface"))
        options = mapping(at(one, "meta", "options"))
        plan = FieldPlan(made_id, _TYPES.get(said, FieldType.JSON), "", at(one, "meta", "required") is True)
        table = self.translations_of(made)
        owner = table.collection if table is not None and field in made.translated else made.collection
        relation, listing = self._relations.of(owner, field), self._relations.listing(owner, field)
        if listing is not None or said == "alias":
            return self._listed(made, field, plan, listing)
        if relation is not None:
            return self._single(made, field, plan, relation)
        if interface == "input-rich-text-html":
            plan.type = FieldType.RICHTEXT
        elif interface in ("input-rich-text-md", "wysiwyg-md"):
            plan.type, plan.markdown = FieldType.RICHTEXT, True
        elif interface in _LISTS and said in ("json", "csv"):
            plan.type, plan.options = FieldType.MULTIPLE_SELECT, _choices(options)
        elif said == "string" and interface in ("select-dropdown", "select-radio") and _choices(options):
            plan.type, plan.options = FieldType.SINGLE_SELECT, _choices(options)
        elif said == "json" and interface == "list" and mappings(options.get("fields")):
            plan.type, plan.groups = FieldType.GROUPS, [GroupPlan("", "", _repeated(options))]
        return plan

    def _single(self, made: Type, field: str, plan: FieldPlan, relation: Relation) -> FieldPlan | None:
        if relation.target == FILES:
            used = self._files_of(relation)
            plan.type = FieldType.IMAGE if all(used) else FieldType.FILE
        elif relation.target in self._endpoints:
            plan.type, plan.apis = FieldType.REFERENCE, [self._endpoints[relation.target]]
        else:
            why = f"it leads to {relation.target or 'several collections'}, which is not content"
            self._losses.add(made.plan.endpoint, f"the field {field!r}", why)
            return None
        return plan

    def _files_of(self, relation: Relation) -> list[bool]:
        """Return of every file that a field leads to whether it is an image."""
        found = (text(row.get(relation.field)) for row in self._rows.of(relation.collection))
        return [self._rows.is_image(one) for one in found if one]

    def _listed(self, made: Type, field: str, plan: FieldPlan, listing: Relation | None) -> FieldPlan | None:
        across = None if listing is None else self._relations.across(listing)
        targets: Iterable[str] = () if listing is None else (listing.collection,)
        if across is not None:
            targets = across.targets or (across.target,)
        if tuple(targets) == (FILES,) and across is not None:
            used = self._files_of(across)
            plan.type = FieldType.IMAGES
            if not all(used):
                plan.type, plan.groups = FieldType.GROUPS, [GroupPlan("", "", [FieldPlan("file", FieldType.FILE)])]
            return plan
        plan.type, plan.apis = FieldType.REFERENCES, [self._endpoints[one] for one in targets if one in self._endpoints]
        if not plan.apis:
            if listing is not None:
                self._losses.add(made.plan.endpoint, f"the field {field!r}", "it does not lead to content")
            return None
        return plan


def _special(facts: Mapping[str, Any]) -> set[str]:
    """Return what Directus itself does with a field."""
    return {one for one in listed(at(facts, "meta", "special")) if isinstance(one, str)}


def _choices(options: Mapping[str, Any]) -> list[str] | None:
    found = [text(one.get("value")) for one in mappings(options.get("choices"))]
    return list(dict.fromkeys(one for one in found if one)) or None


def _repeated(options: Mapping[str, Any]) -> list[FieldPlan]:
    """Return the fields of a list inside of one row."""
    facts = {text(one.get("field")): one for one in mappings(options.get("fields")) if text(one.get("field"))}
    ids = field_ids(facts, in_group=True)
    plans = []
    for field, one in facts.items():
        plan = FieldPlan(ids[field], _TYPES.get(text(one.get("type")), FieldType.JSON), field)
        interface = text(at(one, "meta", "interface"))
        if interface in ("input-rich-text-html", "input-rich-text-md"):
            plan.type, plan.markdown = FieldType.RICHTEXT, interface.endswith("md")
        plans.append(plan)
    return plans

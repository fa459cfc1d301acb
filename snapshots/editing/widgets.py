"""Write the fields of an API as fields of an editor's configuration."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

import msgspec

from snapshots.columns import REFERENCE_API, REFERENCE_ID
from snapshots.definitions.model import ApiSource
from snapshots.documents.document import ContentDocument, RawValue, is_missing
from snapshots.editing.editors import Editor
from snapshots.editing.forms import empty_text, fits, form_of
from snapshots.model import GROUP_KIND, REFERENCE_TYPES, TEXT_TYPES, Api, Field, FieldType, Record, ValueKind

_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*")
"""An expression that is a key, or a way into mappings."""
_META: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "publishedAt": ("Date", {"widget": "datetime"}),
    "status": ("Status", {"widget": "select", "options": ["published", "scheduled", "draft"]}),
    "publishStart": ("Live from", {"widget": "datetime"}),
    "publishEnd": ("Live until", {"widget": "datetime"}),
}
"""The names and widgets of a version's facts besides its fields, by key; all of them are optional."""


_LAUNCH: Final = {"widget": "select", "hint": "Goes live together with the others of this launch: no Live from then."}


class EditorTarget(msgspec.Struct, frozen=True):
    """Where an editor finds the entries of an API, to refer to them."""

    collection: str
    value: str
    """The place of an entry's ID."""
    title: str
    """The place of what people call an entry."""
    file: str | None = None
    """The file that holds all entries, if one does."""


class Widgets:
    """The fields of one collection of an editor."""

    def __init__(
        self,
        editor: Editor,
        targets: Mapping[str, EditorTarget],
        documents: Iterable[tuple[str, ContentDocument]],
        *,
        is_markdown: bool,
        warn: Callable[[str], None],
    ) -> None:
        """``targets`` are the APIs that can be referred to, by ``uid``; ``documents``, each with the path of its file,
        show how values are written."""
        self._editor, self._targets, self._warn = editor, targets, warn
        self._documents, self._is_markdown = list(documents), is_markdown

    def of_api(
        self, api: Api, expressions: Mapping[str, str], meta: Mapping[str, str], launches: Collection[str]
    ) -> list[dict[str, Any]]:
        """Return the fields of an API's entries, then what says when they are live. What cannot be edited is told.

        ``launches`` are the names of the workspace's.
        """
        made: list[dict[str, Any]] = []
        for field in api.fields:
            expression = expressions[field.id]
            if expression == "$body" and self._is_markdown:
                made.append({**self._common(field, "body"), **self._markdown()})
            elif expression == "$body" or _KEY.fullmatch(expression):
                steps = [field.id] if expression == "$body" else expression.split(".")
                widget = self._of(field, steps)
                if widget is not None:
                    self._check_forms(steps, widget)
                    _add_widget(made, steps, widget)
            else:
                self._warn(f"the field {field.id!r} is read by {expression!r}, not one key: it is left out")
        taken = {one["name"] for one in made}
        facts = _META | ({"launch": ("Launch", _LAUNCH | {"options": list(launches)})} if launches else {})
        for name, (label, kind) in facts.items():
            key = meta.get(name, name)
            if _KEY.fullmatch(key) and "." not in key and key not in taken:
                made.append({"name": key, "label": label, **kind, "required": False})
        return made

    def _check_forms(self, steps: list[str], widget: Mapping[str, Any]) -> None:
        """Tell of the first file whose value at a way the widget cannot open, or would not leave as it is."""
        for file, document in self._documents:
            if not all(fits(widget, value) for value in _at(document.values, steps)):
                self._warn(
                    f"the editor cannot open {file}, where {'.'.join(steps)!r} is not written as {form_of(widget)}"
                )
                return
        if self._editor is not Editor.SVELTIA:
            return
        for file, document in self._documents:
            for value in _at(document.values, steps):
                below = empty_text(widget, value)
                if below is not None:
                    name = ".".join((*steps, *below))
                    self._warn(f"Sveltia CMS leaves empty texts out: saving {file} in it removes its empty {name!r}")
                    return

    def _markdown(self) -> dict[str, Any]:
        """Return the widget of a Markdown text.

        The rich text editor of Sveltia CMS rewrites what it opens, and loses some: the alignment of tables, code inside
        of lists, backslashes. So its users begin with the Markdown. That of Decap CMS leaves a text alone until it is
        edited.
        """
        return {"widget": "markdown"} | ({"modes": ["raw", "rich_text"]} if self._editor is Editor.SVELTIA else {})

    def _boolean(self, field: Field) -> dict[str, Any]:
        """Return the widget of a boolean: in Sveltia CMS a switch always has a value, so no value needs a choice."""
        if field.required or self._editor is Editor.DECAP:
            return {"widget": "boolean"}
        return {"widget": "select", "options": [{"label": "Yes", "value": True}, {"label": "No", "value": False}]}

    def _optional(self, fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the fields of an object that need not be there: Decap CMS asks for its required ones all the same."""
        if self._editor is not Editor.DECAP:
            return fields
        inside = [
            {"fields": self._optional(field["fields"])} if field["widget"] == "object" else {} for field in fields
        ]
        return [{**field, "required": False, **below} for field, below in zip(fields, inside, strict=True)]

    def _common(self, field: Field, name: str) -> dict[str, Any]:
        return {"name": name, "label": field.name, **({} if field.required else {"required": False})}

    def _of(self, field: Field, steps: list[str]) -> dict[str, Any] | None:
        """Return the field at keys of a document; ``None`` for what no widget can edit."""
        common = self._common(field, steps[-1])
        if field.type is FieldType.JSON:
            self._warn(
                f"the field {'.'.join(steps)!r} may hold any JSON, for which there is no widget: it is left as it is"
            )
            return None
        if field.type in REFERENCE_TYPES:
            return {**common, **self._reference(field, steps)}
        if field.type.facts.kind is ValueKind.GROUP:
            return {**common, **self._groups(field, steps)}
        record = field.type.facts.record
        if record is not None:
            return {**common, **self._record(field, record, steps)}
        if field.type.facts.kind is ValueKind.BOOLEAN:
            return {**common, **self._boolean(field)}
        return {**common, **_plain(field)}

    def _reference(self, field: Field, steps: list[str]) -> dict[str, Any]:
        is_array = field.type.facts.is_array
        uids = field.target_uids
        if field.targets is not msgspec.UNSET and any(isinstance(value, dict) for value in self._written(steps)):
            apis = {"name": REFERENCE_API, "label": "API", "widget": "select"}
            entry = {"name": REFERENCE_ID, "label": "ID", "widget": "string"}
            return {"widget": "list", "fields": [{**apis, "options": [one.endpoint for one in field.targets]}, entry]}
        target = self._targets.get(uids[0]) if len(uids) == 1 and uids[0] is not None else None
        if target is None:
            return {
                "widget": "list" if is_array else "string",
                "hint": "IDs of entries" if is_array else "The ID of an entry",
            }
        found: dict[str, Any] = {"widget": "relation", "collection": target.collection}
        if target.file is not None:
            found["file"] = target.file
        found |= {"value_field": target.value, "search_fields": [target.title], "display_fields": [target.title]}
        return found | ({"multiple": True} if is_array else {})

    def _written(self, steps: list[str]) -> list[RawValue]:
        """Return the values that documents have at a way, or in lists there."""
        found = [value for _, document in self._documents for value in _at(document.values, steps)]
        items = [item for value in found for item in (value if isinstance(value, list) else [value])]
        return [item for item in items if not is_missing(item)]

    def _groups(self, field: Field, steps: list[str]) -> dict[str, Any]:
        kinds = [(kind, [w for one in kind.fields if (w := self._of(one, [*steps, one.id]))]) for kind in field.kinds]
        if not field.type.facts.is_array:
            return {"widget": "object", "fields": kinds[0][1] if field.required else self._optional(kinds[0][1])}
        if len(kinds) == 1 and not kinds[0][0].id:
            return {"widget": "list", "fields": kinds[0][1]}
        types = [
            {"name": kind.id, "label": kind.name or kind.id, "widget": "object", "fields": made} for kind, made in kinds
        ]
        return {"widget": "list", "typeKey": GROUP_KIND, "types": types}

    def _record(self, field: Field, record: Record, steps: list[str]) -> dict[str, Any]:
        """Return an image or a file: its address alone, or all its members where the files have it so."""
        widget = "image" if record.name == "Image" else "file"
        found: dict[str, Any] = {"widget": widget}
        written = self._written(steps)
        used = {key for value in written if isinstance(value, dict) for key in value}
        if used or (widget == "image" and not written):
            members = []
            for number, member in enumerate(record.members):
                if not (member.required or member.name == "alt" or member.name in used):
                    continue
                kind = widget if number == 0 else "number" if member.unit else "string"
                whole = {"value_type": "int"} if kind == "number" else {}
                optional = {} if member.required else {"required": False}
                members.append({"name": member.name, "label": member.name, "widget": kind, **whole, **optional})
            found = {"widget": "object", "fields": members}
            if not field.required and not field.type.facts.is_array:
                found["fields"] = self._optional(members)
        if not field.type.facts.is_array:
            return found
        if "fields" in found:
            return {**found, "widget": "list"}
        return {"widget": "list", "field": {"name": "url", "label": widget.title(), **found}}


def in_all_languages(field: Any) -> Any:
    """Return a field, and all inside it, as one that each language has a value of its own for."""
    inside = {
        key: [in_all_languages(one) for one in value] if isinstance(value, list) else in_all_languages(value)
        for key, value in field.items()
        if key in ("field", "fields", "types")
    }
    return {**field, **inside, "i18n": True}


def title_key(api: Api, source: ApiSource) -> str | None:
    """The key of the text that people call an entry by: the first required one, else the first."""
    texts = [
        field
        for field in api.fields
        if field.type in (FieldType.TEXT, *TEXT_TYPES) and field.type is not FieldType.RICHTEXT
    ]
    keys = [
        source.fields[field.id]
        for field in sorted(texts, key=lambda field: (field.type is not FieldType.TEXT, not field.required))
    ]
    return next((key for key in keys if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", key)), None)


def _plain(field: Field) -> dict[str, Any]:
    facts = field.type.facts
    match facts.kind:
        case ValueKind.TEXT if field.type is FieldType.RICHTEXT:
            return {"widget": "text", "hint": "HTML"}
        case ValueKind.TEXT if field.type is FieldType.TEXTAREA:
            return {"widget": "text"}
        case ValueKind.NUMBER:
            return {"widget": "number", "value_type": "float"}
        case ValueKind.INSTANT:
            return {"widget": "datetime"}
        case ValueKind.OPTION if facts.is_array:
            options = {"widget": "select", "multiple": True, "options": list(field.options or ())}
            return options if field.options else {"widget": "list"}
        case ValueKind.OPTION if field.options:
            return {"widget": "select", "options": list(field.options)}
    return {"widget": "string"}


def _at(value: RawValue, steps: list[str]) -> list[RawValue]:
    """Return what a document has at a way."""
    if not steps:
        return [value]
    if isinstance(value, list):
        return [found for item in value for found in _at(item, steps)]
    return _at(value[steps[0]], steps[1:]) if isinstance(value, dict) and steps[0] in value else []


def _add_widget(fields: list[dict[str, Any]], steps: list[str], widget: dict[str, Any]) -> None:
    """Add a widget at a way into mappings, each of which is an object of the editor."""
    for step in steps[:-1]:
        around = next((one for one in fields if one["name"] == step and one["widget"] == "object"), None)
        if around is None:
            around = {"name": step, "label": step, "widget": "object", "required": False, "fields": []}
            fields.append(around)
        if widget.get("required", True):
            around.pop("required", None)
        fields = around["fields"]
    fields.append(widget)

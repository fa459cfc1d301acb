"""Two versions' definitions → what changed between them, and which changes break clients.

A change is breaking when a request that was right before can fail or change its meaning, or when an answer can
hold a value that a client of the old definitions had no reason to expect. Additions are not breaking: a
new field, option, language or API.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from snapshots.definitions.files import WORKSPACE_FILE
from snapshots.definitions.model import Definitions
from snapshots.definitions.places import definition_document
from snapshots.model import ARRAY_TYPES, Api, Field, FieldType, Workspace

Value = str | bool | tuple[str, ...] | None

_MULTIPLICITY = (
    {FieldType.SINGLE_SELECT, FieldType.MULTIPLE_SELECT},
    {FieldType.REFERENCE, FieldType.REFERENCES},
)
_SETTINGS = ("name", "timezone", "domains", "members", "views", "rate_limit", "dashboard_url")


class SchemaChange(msgspec.Struct, frozen=True):
    """One difference between two versions' definitions."""

    change: str
    """The kind of change, such as ``field_removed``; the reference lists all kinds."""
    breaking: bool
    message: str
    """A sentence for people, with the effect on clients if the change is breaking. ``str`` puts the API before it."""
    api: str | None = None
    """The endpoint, the new one if there is one."""
    uid: str | None = None
    field: str | None = None
    before: Value = None
    after: Value = None

    def __str__(self) -> str:
        return self.message if self.api is None else f"{self.api}: {self.message}"


class _Targets(msgspec.Struct, frozen=True):
    """The workspaces in which the targets of reference fields are looked up."""

    old: Workspace
    new: Workspace
    same: dict[str, str]
    """An old API's ``uid`` → that of the new API that it became."""


def schema_changes(old: Workspace, new: Workspace) -> list[SchemaChange]:
    """Return the changes from ``old`` to ``new``: languages, then APIs in the new order and those that are gone, then
    settings.

    APIs are the same by ``uid``, fields by ID.
    """
    pairs = paired_apis(old, new)
    same = {before.uid: after.uid for before, after in pairs if before is not None}
    changes = list(_languages(old, new))
    for before, after in pairs:
        if before is None:
            changes.append(SchemaChange("api_added", False, "a new API", after.endpoint, after.uid))
        else:
            changes.extend(_api(before, after, _Targets(old, new, same)))
    for gone in old.apis:
        if gone.uid not in same:
            message = "the API is gone: requests to it get 404"
            changes.append(SchemaChange("api_removed", True, message, gone.endpoint, gone.uid))
    for name in _SETTINGS:
        if getattr(old, name) != getattr(new, name):
            changes.append(SchemaChange("setting_changed", False, f"the workspace's {name} changed", field=name))
    return changes


def breaking_changes(old: Workspace, new: Workspace) -> list[SchemaChange]:
    """Return those of ``schema_changes`` that break clients."""
    return [change for change in schema_changes(old, new) if change.breaking]


def paired_apis(old: Workspace, new: Workspace) -> list[tuple[Api | None, Api]]:
    """Return (old, new) of every new API: paired by ``uid``, else by endpoint where neither has another partner."""
    kept = {api.uid for api in new.apis}
    pairs: list[tuple[Api | None, Api]] = []
    for api in new.apis:
        before = old.api_by_uid(api.uid)
        if before is None:
            same_place = old.api(api.endpoint)
            before = same_place if same_place is not None and same_place.uid not in kept else None
        pairs.append((before, api))
    return pairs


def _languages(old: Workspace, new: Workspace) -> Iterator[SchemaChange]:
    for lang in new.languages:
        if lang not in old.languages:
            yield SchemaChange("language_added", False, f'the language "{lang}" is new', after=lang)
    for lang in old.languages:
        if lang not in new.languages:
            message = f'the language "{lang}" is gone: requests with lang={lang} get 400'
            yield SchemaChange("language_removed", True, message, before=lang)
    if old.main_language != new.main_language:
        yield SchemaChange(
            "main_language_changed",
            True,
            f'the main language was "{old.main_language}" and is "{new.main_language}": requests without lang '
            "get other content",
            before=old.main_language,
            after=new.main_language,
        )


def _api(before: Api, after: Api, targets: _Targets) -> Iterator[SchemaChange]:
    def change(slug: str, breaking: bool, message: str, old_value: Value, new_value: Value) -> SchemaChange:
        return SchemaChange(slug, breaking, message, after.endpoint, after.uid, None, old_value, new_value)

    if before.uid != after.uid:
        message = f'the uid of "{after.endpoint}" is another: API keys limited to it get 404'
        yield change("api_uid_changed", True, message, before.uid, after.uid)
    if before.endpoint != after.endpoint:
        message = (
            f'the endpoint "{before.endpoint}" is now "{after.endpoint}": requests to the old one no longer reach it'
        )
        yield change("endpoint_changed", True, message, before.endpoint, after.endpoint)
    if before.kind is not after.kind:
        message = f"was a {before.kind.value} API and is a {after.kind.value} API: its answers have another shape"
        yield change("kind_changed", True, message, before.kind.value, after.kind.value)
    if before.multilingual and not after.multilingual:
        message = "no longer multilingual: requests for an additional language get 400"
        yield change("multilingual_off", len(targets.old.languages) > 1, message, True, False)
    if after.multilingual and not before.multilingual:
        yield change("multilingual_on", False, "multilingual now", False, True)
    if before.name != after.name:
        yield change("api_name_changed", False, f'called "{after.name}" now', before.name, after.name)
    for field in after.fields:
        earlier = before.field(field.id)
        if earlier is None:
            yield _changed(after, field, "field_added", False, f'the field "{field.id}" is new', None, field.type.value)
        else:
            yield from _field(after, earlier, field, targets)
    for field in before.fields:
        if after.field(field.id) is None:
            message = f'the field "{field.id}" is gone: it is in no answer, and filters on it get 400'
            yield _changed(after, field, "field_removed", True, message, field.type.value, None)
    order = [field.id for field in before.fields if after.field(field.id) is not None]
    if order != [field.id for field in after.fields if before.field(field.id) is not None]:
        yield change("fields_reordered", False, "its fields stand in another order", None, None)


def _field(api: Api, before: Field, after: Field, targets: _Targets) -> Iterator[SchemaChange]:
    name = f'the field "{after.id}"'
    if before.type is not after.type:
        yield _type_change(api, before, after)
    if before.required and not after.required:
        sees = "an empty array" if after.type in ARRAY_TYPES else "null"
        message = f"{name} is no longer required: clients may get {sees} where there always was a value"
        yield _changed(api, after, "required_loosened", True, message, True, False)
    if after.required and not before.required:
        yield _changed(api, after, "required_tightened", False, f"{name} is required now", False, True)
    yield from _options(api, before, after)
    if before.type is after.type:
        yield from _target(api, before, after, targets)
    if before.name != after.name:
        message = f'{name} is called "{after.name}" now'
        yield _changed(api, after, "field_name_changed", False, message, before.name, after.name)


def _type_change(api: Api, before: Field, after: Field) -> SchemaChange:
    said = f'the field "{after.id}" was {before.type.value} and is {after.type.value}'
    if {before.type, after.type} in _MULTIPLICITY:
        message = f"{said}: clients get {'an array' if after.type in ARRAY_TYPES else 'one value or null'}"
        return _changed(api, after, "multiplicity_changed", True, message, before.type.value, after.type.value)
    # A text field allows all parameters that a textarea allows, and sorting too; the way back loses sorting.
    harmless = (before.type, after.type) == (FieldType.TEXTAREA, FieldType.TEXT)
    message = said if harmless else f"{said}: its values, filters or orders are others"
    return _changed(api, after, "type_changed", not harmless, message, before.type.value, after.type.value)


def _options(api: Api, before: Field, after: Field) -> Iterator[SchemaChange]:
    name = f'the field "{after.id}"'
    if before.options is None or after.options is None:
        if before.options is not None:
            yield _changed(api, after, "options_opened", False, f"{name} takes any text now", before.options, None)
        if after.options is not None:
            message = f"{name} has a list of options now"
            yield _changed(api, after, "options_limited", False, message, None, after.options)
        return
    for option in before.options:
        if option not in after.options:
            message = f'{name} has no option "{option}" any more: filters for it find nothing'
            yield _changed(api, after, "option_removed", True, message, option, None)
    for option in after.options:
        if option not in before.options:
            yield _changed(api, after, "option_added", False, f'{name} has the new option "{option}"', None, option)


def _target(api: Api, before: Field, after: Field, targets: _Targets) -> Iterator[SchemaChange]:
    # An API that only moved to another endpoint, or only got another uid, is reported as such, once.
    if before.target == after.target or targets.same.get(before.target or "") == after.target:
        return
    was, now = _endpoint(targets.old, before.target), _endpoint(targets.new, after.target)
    described = ["plain IDs" if one is None else f'entries of "{one}"' for one in (was, now)]
    message = f'the field "{after.id}" gave {described[0]} and gives {described[1]}'
    yield _changed(api, after, "target_changed", True, message, was, now)


def _endpoint(workspace: Workspace, uid: str | None) -> str | None:
    found = workspace.api_by_uid(uid) if uid is not None else None
    return found.endpoint if found is not None else None


def _changed(
    api: Api, field: Field, slug: str, breaking: bool, message: str, before: Value, after: Value
) -> SchemaChange:
    return SchemaChange(slug, breaking, message, api.endpoint, api.uid, field.id, before, after)


_LINE_OF = {
    "endpoint_changed": "endpoint",
    "kind_changed": "kind",
    "multilingual_off": "multilingual",
    "api_uid_changed": "uid",
    "type_changed": "type",
    "multiplicity_changed": "type",
    "required_loosened": "required",
    "option_removed": "options",
    "target_changed": "api",
}
"""The key of a definition that a change is about."""


def definition_place(root: Path, definitions: Definitions, change: SchemaChange) -> tuple[str, int]:
    """Return the file, relative to the workspace at ``root``, and the 1-based line of a change.

    For a removed member it is the place to put it back: the list it was in, or ``apis`` with line 1.
    """
    if change.uid is None:
        document = definition_document(root, WORKSPACE_FILE)
        return WORKSPACE_FILE, document.line_of("languages") if document is not None else 1
    file = definitions.files.get(change.uid)
    if file is None:
        return "apis", 1
    document = definition_document(root, file)
    if document is None:
        return file, 1
    key = _LINE_OF.get(change.change)
    if change.field is None:
        return file, document.line_of(*([key] if key else []))
    api = definitions.workspace.api_by_uid(change.uid)
    ids = [field.id for field in api.fields] if api is not None else []
    if change.field not in ids:
        return file, document.line_of("fields")
    at = ids.index(change.field)
    return file, document.line_of("fields", at, *([key] if key else []))

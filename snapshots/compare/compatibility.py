"""Compare the definitions of two versions, and tell which changes break clients.

A change is breaking when a request that was right before can fail or change its meaning, or when an answer can
hold a value that a client of the old definitions had no reason to expect. Additions are not breaking: a
new field, option, language or API.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from snapshots.definitions.current_definition import definition_document
from snapshots.definitions.files import WORKSPACE_FILE
from snapshots.definitions.model import Definitions
from snapshots.model import ARRAY_TYPES, Api, Field, FieldPath, FieldType, Workspace, field_path

Value = str | bool | tuple[str, ...] | None

_SETTINGS = (
    "name",
    "timezone",
    "domains",
    "members",
    "views",
    "signals",
    "rate_limit",
    "dashboard_url",
    "assets_sizes",
)


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
    """The field's ID, after the IDs of the groups and kinds it is in: ``authors.name``."""
    before: Value = None
    after: Value = None

    def __str__(self) -> str:
        return self.message if self.api is None else f"{self.api}: {self.message}"


class _Targets(msgspec.Struct, frozen=True):
    """The workspaces in which the targets of reference fields are looked up."""

    old: Workspace
    new: Workspace
    same: dict[str, str]
    """The ``uid`` of the new API that an old API became, by the old ``uid``."""


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


def change_document(change: SchemaChange) -> dict[str, object]:
    """Return a schema change as JSON tells it (decision 49)."""
    return {
        "change": change.change,
        "breaking": change.breaking,
        "api": change.api,
        "field": change.field,
        "from": change.before,
        "to": change.after,
        "message": str(change),
    }


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
            same_endpoint = old.api(api.endpoint)
            before = same_endpoint if same_endpoint is not None and same_endpoint.uid not in kept else None
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
        message = f'the uid of "{after.endpoint}" has changed: API keys limited to it get 404'
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
        yield change("multilingual_on", False, "now multilingual", False, True)
    if before.name != after.name:
        yield change("api_name_changed", False, f'called "{after.name}" now', before.name, after.name)
    if before.description != after.description:
        told = (before.description or None, after.description or None)
        yield change("api_description_changed", False, "its description is different", *told)
    yield from _fields(after, list(map(field_path, before.fields)), list(map(field_path, after.fields)), targets)
    kept = {field.id for field in before.fields} & {field.id for field in after.fields}
    orders = [[field.id for field in api.fields if field.id in kept] for api in (before, after)]
    if orders[0] != orders[1]:
        yield change("fields_reordered", False, "its fields are in another order", None, None)


def _fields(
    api: Api, before: Sequence[FieldPath], after: Sequence[FieldPath], targets: _Targets
) -> Iterator[SchemaChange]:
    """Return the changes of the fields of an API, or of a kind of group."""
    old, new = ({path.field.id: path for path in paths} for paths in (before, after))
    renamed: dict[str, FieldPath] = {}
    for name, path in new.items():
        former = path.field.renamed_from
        if isinstance(former, str) and former in old and former not in new and name not in old:
            renamed[former] = path
    for former, path in renamed.items():
        message = f'the field "{old[former].name}" is "{path.name}" now: answers no longer have it under its old name'
        message += "" if len(path.steps) > 1 else ", and filters on that get 400"
        yield _changed(api, path, "field_renamed", True, message, former, path.field.id)
        yield from _field(api, old[former], path, targets)
    for name, path in new.items():
        if path in renamed.values():
            continue
        if name not in old:
            message = f'the field "{path.name}" is new'
            yield _changed(api, path, "field_added", False, message, None, path.field.type.value)
        else:
            yield from _field(api, old[name], path, targets)
    for name, path in old.items():
        if name not in new and name not in renamed:
            gone = "answers no longer have it" + ("" if len(path.steps) > 1 else ", and filters on it get 400")
            message = f'the field "{path.name}" is gone: {gone}'
            yield _changed(api, path, "field_removed", True, message, path.field.type.value, None)


def _field(api: Api, old: FieldPath, new: FieldPath, targets: _Targets) -> Iterator[SchemaChange]:
    before, after = old.field, new.field
    name = f'the field "{new.name}"'
    if before.type is not after.type:
        yield _type_change(api, before, new)
    if before.required and not after.required:
        sees = "an empty array" if after.type in ARRAY_TYPES else "null"
        message = f"{name} is no longer required: clients may get {sees} where there always was a value"
        yield _changed(api, new, "required_loosened", True, message, True, False)
    if after.required and not before.required:
        yield _changed(api, new, "required_tightened", False, f"{name} is required now", False, True)
    yield from _options(api, before, new)
    if before.type is after.type:
        yield from _target(api, before, new, targets)
        yield from _kinds(api, old, new, targets)
    if before.name != after.name and (before.name, after.name) != (before.id, after.id):
        message = f'{name} is called "{after.name}" now'
        yield _changed(api, new, "field_name_changed", False, message, before.name, after.name)
    if before.description != after.description:
        told = (before.description or None, after.description or None)
        yield _changed(api, new, "field_description_changed", False, f"{name} has another description", *told)


def _kinds(api: Api, old: FieldPath, new: FieldPath, targets: _Targets) -> Iterator[SchemaChange]:
    """Return the changes inside a field's groups. A new kind is an addition, as a new option is."""
    before, after = ({kind.id: kind for kind in path.field.kinds} for path in (old, new))
    if ("" in before) != ("" in after):
        many = "one kind" if "" in after else "several kinds"
        message = f'the field "{new.name}" has {many} of groups now: their shape is different'
        yield _changed(api, new, "kinds_changed", True, message, ", ".join(before) or None, ", ".join(after) or None)
        return
    for name, kind in after.items():
        if name not in before:
            message = f'the field "{new.name}" has the new kind "{name}"'
            yield _changed(api, new, "kind_added", False, message, None, name)
        else:
            yield from _fields(api, list(old.of_kind(before[name])), list(new.of_kind(kind)), targets)
    for name in before:
        if name not in after:
            message = f'the field "{new.name}" no longer has the kind "{name}": clients that look for it find nothing'
            yield _changed(api, new, "kind_removed", True, message, name, None)


def _type_change(api: Api, before: Field, path: FieldPath) -> SchemaChange:
    after = path.field
    said = f'the field "{path.name}" was {before.type.value} and is {after.type.value}'
    if before.type.facts == replace(after.type.facts, is_array=not after.type.facts.is_array):
        message = f"{said}: clients get {'an array' if after.type in ARRAY_TYPES else 'one value or null'}"
        return _changed(api, path, "multiplicity_changed", True, message, before.type.value, after.type.value)
    # A text field allows all that a textarea allows, and can be sorted by; the way back loses that.
    harmless = (before.type, after.type) == (FieldType.TEXTAREA, FieldType.TEXT)
    message = said if harmless else f"{said}: its values, filters or orders are different"
    return _changed(api, path, "type_changed", not harmless, message, before.type.value, after.type.value)


def _options(api: Api, before: Field, path: FieldPath) -> Iterator[SchemaChange]:
    after, name = path.field, f'the field "{path.name}"'
    if before.options is None or after.options is None:
        if before.options is not None:
            yield _changed(api, path, "options_opened", False, f"{name} takes any text now", before.options, None)
        if after.options is not None:
            message = f"{name} has a list of options now"
            yield _changed(api, path, "options_limited", False, message, None, after.options)
        return
    for option in before.options:
        if option not in after.options:
            message = f'{name} no longer has the option "{option}": filters for it find nothing'
            yield _changed(api, path, "option_removed", True, message, option, None)
    for option in after.options:
        if option not in before.options:
            yield _changed(api, path, "option_added", False, f'{name} has the new option "{option}"', None, option)


def _target(api: Api, before: Field, path: FieldPath, targets: _Targets) -> Iterator[SchemaChange]:
    # An API that only moved to another endpoint, or only got another uid, is reported as such, once.
    after = path.field
    old, new = before.target_uids, after.target_uids
    several = (before.targets is not UNSET, after.targets is not UNSET)
    became = tuple(targets.same.get(uid or "") for uid in old)
    if several[0] == several[1] and new in (old, became):
        return
    was, now = _endpoints(targets.old, before), _endpoints(targets.new, after)
    described = ["plain IDs" if one is None else f'entries of "{one}"' for one in (was, now)]
    message = f'the field "{path.name}" gave {described[0]} and gives {described[1]}'
    yield _changed(api, path, "target_changed", True, message, was, now)


def _endpoints(workspace: Workspace, field: Field) -> str | None:
    """Return the endpoints that a field's values are entries of; ``None`` where they are IDs."""
    if field.targets is not UNSET:
        return ", ".join(target.endpoint for target in field.targets)
    found = workspace.api_by_uid(field.target) if field.target is not None else None
    return found.endpoint if found is not None else None


def _changed(
    api: Api, path: FieldPath, slug: str, breaking: bool, message: str, before: Value, after: Value
) -> SchemaChange:
    return SchemaChange(slug, breaking, message, api.endpoint, api.uid, path.name, before, after)


_LINE_OF = {
    "endpoint_changed": "endpoint",
    "kind_changed": "kind",
    "multilingual_off": "multilingual",
    "api_uid_changed": "uid",
    "type_changed": "type",
    "multiplicity_changed": "type",
    "required_loosened": "required",
    "option_removed": "options",
    "kinds_changed": "groups",
    "kind_removed": "groups",
}
"""The key of a definition that a change is about."""


def definition_position(root: Path, definitions: Definitions, change: SchemaChange) -> tuple[str, int]:
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
    steps = change.field.split(".")
    where: tuple[str | int, ...] = ()
    fields = api.fields if api is not None else ()
    while steps:
        # What is gone from a list is put back there.
        at = next((at for at, field in enumerate(fields) if field.id == steps[0]), None)
        if at is None:
            return file, document.line_of(*where, "fields")
        where, field = (*where, "fields", at), fields[at]
        del steps[0]
        if not steps:
            break
        number = next((number for number, kind in enumerate(field.kinds) if kind.id in ("", steps[0])), None)
        if number is None:
            return file, document.line_of(*where, "groups")
        fields = field.kinds[number].fields
        if field.kinds[number].id:
            where = (*where, "groups", number)
            del steps[0]
    keys = ("apis", "api") if change.change == "target_changed" else (key,)
    lines = [document.line_of(*where, *([one] if one else [])) for one in keys]
    return file, max(lines)

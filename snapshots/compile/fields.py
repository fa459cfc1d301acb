"""Choose the function that compiles a field's values: groups field by field, references by their API's rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from functools import partial
from typing import Any, TypeAlias

from msgspec import UNSET

from snapshots.aliases.reading import NOTHING_RENAMED, OLD_ID, NewName, Renamed
from snapshots.columns import REFERENCE_API, REFERENCE_ID
from snapshots.compile.richtext import RichText, TextDoubt
from snapshots.compile.values import (
    Compiled,
    Compiler,
    InvalidValue,
    described,
    each,
    listed,
    nearest,
    value_compiler,
)
from snapshots.documents.document import RawValue, is_missing
from snapshots.model import GROUP_KIND, Field, FieldType, Group, ReferenceTarget, ValueKind
from snapshots.paths import Steps

MadeIds: TypeAlias = Mapping[str, Mapping[str, str]]
"""The ``id_map`` of every API whose IDs come from a template, by ``uid``: references to the API are turned into IDs by
the same rule."""

_NOTHING: Compiled = (None, None, None)


def field_compiler(
    field: Field, zone: tzinfo, rich_text: RichText, made_ids: MadeIds, renamed: Renamed = NOTHING_RENAMED
) -> Compiler:
    """Return the function that turns a field's raw values into ``Compiled`` ones. It raises ``InvalidValue``.

    ``rich_text`` compiles rich texts, and finds the assets that fields name; ``renamed`` are the entries that old IDs
    lead to.
    """
    if field.type.facts.kind is ValueKind.GROUP:
        one = _group_compiler(field, zone, rich_text, made_ids, renamed)
        return partial(each, one, rich_text) if field.type.facts.is_array else one
    if field.targets is not UNSET:
        several = _several_compiler(field, field.targets, zone, rich_text, made_ids, renamed)
        return partial(each, several, rich_text)
    compiler = _reference_compiler(field, zone, rich_text, made_ids, [] if field.target is None else [field.target])
    names = renamed.get((field.target or "",))
    return compiler if names is None else _by_new_names(compiler, names, rich_text)


def _by_new_names(compiler: Compiler, names: Mapping[str, NewName], rich_text: RichText) -> Compiler:
    """Return a reference's compiler that puts the IDs that entries have now in the place of old ones."""

    def compiled(raw: RawValue) -> Compiled:
        value = compiler(raw)[0]
        if value is None:
            return _NOTHING
        if isinstance(value, list):
            value = [_new_id(one, names, rich_text, (*rich_text.way, at)) for at, one in enumerate(value)]
        else:
            value = _new_id(value, names, rich_text, rich_text.way)
        return value, value, None

    return compiled


def _new_id(entry_id: str, names: Mapping[str, NewName], rich_text: RichText, way: Steps) -> str:
    new = names.get(entry_id)
    if new is None:
        return entry_id
    message = f"{entry_id!r} is an old ID of {new.entry_id!r}, and leads there: write {new.entry_id!r}"
    rich_text.doubts.append(TextDoubt(0, OLD_ID, message, way=way))
    return new.entry_id


def _reference_compiler(
    field: Field, zone: tzinfo, rich_text: RichText, made_ids: MadeIds, targets: Sequence[str | None]
) -> Compiler:
    """Return the compiler of a field that refers to an entry of one of these APIs, if to any."""
    maps = [made_ids[uid] for uid in targets if uid is not None and uid in made_ids]
    compiler = value_compiler(field, zone, rich_text, normalise_reference=bool(maps))
    # Of an ID in several maps, that of the API named first is meant.
    id_map = {written: made for one in reversed(maps) for written, made in one.items()}
    return _mapped(compiler, id_map) if id_map else compiler


def _mapped(compiler: Compiler, id_map: Mapping[str, str]) -> Compiler:
    """Return a reference's compiler that looks values up in the target's ``id_map`` first."""

    def mapped(raw: RawValue) -> RawValue:
        if isinstance(raw, list):
            return [mapped(item) for item in raw]
        return id_map.get(raw, raw) if isinstance(raw, str) else raw

    return lambda raw: compiler(mapped(raw))


def _several_compiler(
    field: Field,
    targets: Sequence[ReferenceTarget],
    zone: tzinfo,
    rich_text: RichText,
    made_ids: MadeIds,
    renamed: Renamed,
) -> Compiler:
    """Return the compiler of one reference to one of several APIs: an ID, or an API and an ID."""
    single = Field(field.id, field.name, FieldType.REFERENCE)
    alone = _reference_compiler(single, zone, rich_text, made_ids, field.target_uids)
    of_api = {one.endpoint: _reference_compiler(single, zone, rich_text, made_ids, [one.uid]) for one in targets}
    names_alone = renamed.get(tuple(uid or "" for uid in field.target_uids), {})
    names_of_api = {one.endpoint: renamed.get((one.uid or "",), {}) for one in targets}

    def compiled(raw: RawValue) -> Compiled:
        if is_missing(raw):
            return _NOTHING
        if not isinstance(raw, dict):
            entry = alone(raw)[0]
            if (new := names_alone.get(entry)) is not None:
                entry = _new_id(entry, names_alone, rich_text, rich_text.way)
                if new.api is not None:
                    named = {REFERENCE_API: new.api, REFERENCE_ID: entry}
                    return named, named, None
            return {REFERENCE_API: None, REFERENCE_ID: entry}, entry, None
        for key in raw:
            if key not in (REFERENCE_API, REFERENCE_ID):
                raise InvalidValue(f"a reference has no {key!r}: write an ID, or {{api: …, id: …}}")
        api, entry_id = raw.get(REFERENCE_API), raw.get(REFERENCE_ID)
        if not isinstance(api, str) or api not in of_api:
            names = listed(of_api)
            raise InvalidValue(f"expected one of the APIs {names}, got {described(api)}", (REFERENCE_API,))
        if is_missing(entry_id):
            raise InvalidValue("a reference needs an id")
        try:
            given = of_api[api](entry_id)[0]
            given = _new_id(given, names_of_api[api], rich_text, (*rich_text.way, REFERENCE_ID))
            made = {REFERENCE_API: str(api), REFERENCE_ID: given}
        except InvalidValue as error:
            raise InvalidValue(str(error), (REFERENCE_ID,)) from None
        return made, made, None

    return compiled


def _group_compiler(field: Field, zone: tzinfo, rich_text: RichText, made_ids: MadeIds, renamed: Renamed) -> Compiler:
    kinds = {
        kind.id: (
            kind,
            [(member.id, field_compiler(member, zone, rich_text, made_ids, renamed)) for member in kind.fields],
        )
        for kind in field.kinds
    }
    if "" in kinds:
        return lambda raw: _group(*kinds[""], rich_text, raw)

    def compiled(raw: RawValue) -> Compiled:
        if not isinstance(raw, dict):
            return _group(Group("", "", ()), [], rich_text, raw)
        said = raw.get(GROUP_KIND)
        if not isinstance(said, str) or said not in kinds:
            hint = nearest(said, kinds) if isinstance(said, str) else f"; write one of {listed(kinds)}"
            raise InvalidValue(f"{GROUP_KIND} must name the kind of group, got {described(said)}{hint}", (GROUP_KIND,))
        return _group(*kinds[said], rich_text, raw)

    return compiled


def _group(kind: Group, members: Sequence[tuple[str, Compiler]], rich_text: RichText, raw: RawValue) -> Compiled:
    """Compile one group, all its faults at once."""
    if is_missing(raw):
        return _NOTHING
    if not isinstance(raw, dict):
        keys = listed(name for name, _ in members) or GROUP_KIND
        raise InvalidValue(f"expected a mapping with the keys {keys}, got {described(raw)}")
    columns: dict[str, Any] = {}
    values: dict[str, Any] = {GROUP_KIND: kind.id} if kind.id else {}
    faults: list[tuple[Steps, str]] = []
    way = rich_text.way
    for name, compiler in members:
        rich_text.way = (*way, name)
        try:
            columns[name], values[name], _ = compiler(raw.get(name))
        except InvalidValue as error:
            faults += (((name, *steps), message) for steps, message in error.faults)
    rich_text.way = way
    if faults:
        raise InvalidValue.of(faults)
    return ({GROUP_KIND: kind.id, kind.id: columns} if kind.id else columns), values, None


def unknown_members(field: Field, raw: RawValue) -> list[Steps]:
    """Return the ways to all keys in a field's groups that nothing reads. The value itself is a right one."""
    found: list[Steps] = []
    items = raw if isinstance(raw, list) else [raw]
    for at, item in enumerate(items):
        if not isinstance(item, dict):
            continue
        kind = next(one for one in field.kinds if one.id == item.get(GROUP_KIND, "") or not one.id)
        fields = {one.id: one for one in kind.fields}
        start: Steps = (at,) if isinstance(raw, list) else ()
        for key, value in item.items():
            if key in fields and fields[key].kinds:
                found += ((*start, key, *steps) for steps in unknown_members(fields[key], value))
            elif key not in fields and not (kind.id and key == GROUP_KIND):
                found.append((*start, key))
    return found

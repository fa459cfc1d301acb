"""Find the APIs that requests of a scope and a language rule read, and the references among them that they follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import msgspec
from msgspec import UNSET

from engine.read.files.row_arrays import UNNAMED
from engine.visibility import Visibility
from snapshots.data_files.segments import entry_number
from snapshots.model import (
    RECORDS,
    REFERENCE_TYPES,
    Api,
    Field,
    FieldPath,
    ReferenceTarget,
    ValueKind,
    Workspace,
    field_path,
)

Scope: TypeAlias = frozenset[str] | None
"""The ``uid``s of the APIs a key may read; ``None`` for all (decision 27)."""
Read: TypeAlias = tuple[tuple[Api, Visibility], ...]
"""APIs, each with the language rule in it."""

_MEMBERS_OF_RECORDS: Final = frozenset(member.name for record in RECORDS for member in record.members)


def in_scope(api: Api, scope: Scope) -> bool:
    """Return whether a scope has an API."""
    return scope is None or api.uid in scope


def every_language(workspace: Workspace, api: Api) -> list[Visibility]:
    """Return the rules by which an API's versions in each of its languages are found."""
    return [Visibility(lang) for lang in workspace.languages_of(api)]


class Candidates(msgspec.Struct, frozen=True):
    """The APIs in which an entry is looked for that a reference to one of several APIs names."""

    apis: tuple[Api, ...]
    stays_id: bool
    """Whether the ID stays where none of these has the entry: it may be in an API that is not there or not in scope."""


class Expansion(msgspec.Struct, frozen=True):
    """A reference field whose entries are delivered in place of their IDs."""

    field: Field
    """The field of the API: the reference field, or that in whose groups it stands."""
    path: FieldPath
    apis: tuple[Api, ...]
    """The APIs referred to, those that are there and in scope; one but for references to several."""
    several: dict[int, Candidates] | None
    """For references to several APIs, by the number of the endpoint named."""
    is_spliced: bool
    """True where the field's name stands in an entry's JSON once, so that its value is found by the name's bytes."""

    @property
    def is_one(self) -> bool:
        """Whether the field names one entry at most."""
        return len(self.path.steps) == 1 and not self.path.is_array


def are_spliced(expansions: Sequence[Expansion]) -> bool:
    """Return whether the values of all these fields are found by the bytes of their names."""
    return all(expansion.is_spliced for expansion in expansions)


class Reach:
    """The entries that requests of a scope and a language rule lead to, by the definitions alone: the rule and the
    scope go for every level (contract 4.11). What follows from them is found once."""

    def __init__(self, workspace: Workspace, visibility: Visibility, scope: Scope) -> None:
        """``visibility`` is the language rule of multilingual APIs."""
        self._workspace = workspace
        self._visibility = visibility
        self._scope = scope
        self._expansions: dict[str, tuple[Expansion, ...]] = {}
        self._read: dict[tuple[str, int, bool], Read] = {}

    def visibility_in(self, api: Api) -> Visibility:
        """An API without multilingual support delivers its main-language versions (contract 4.11)."""
        return self._visibility if api.multilingual else Visibility(self._workspace.main_language)

    def expansions(self, api: Api) -> tuple[Expansion, ...]:
        """The reference fields of ``api`` whose target is there and in scope (contract 4.8)."""
        found = self._expansions.get(api.uid)
        if found is None:
            found = self._expansions[api.uid] = tuple(self._found_expansions(api))
        return found

    def read(self, api: Api, depth: int, include_langs: bool) -> Read:
        """Every API, with the language rule in it, that answers about ``api`` to ``depth`` levels of references are
        made from, ``include_langs`` with those of its entries' other versions."""
        name = (api.uid, depth, include_langs)
        read = self._read.get(name)
        if read is None:
            found = {(one.uid, rule): (one, rule) for one, rule in self._found_read(api, depth, include_langs)}
            read = self._read[name] = tuple(found.values())
        return read

    def _found_expansions(self, api: Api) -> Iterator[Expansion]:
        has_any_names = any(field.type.facts.kind in (ValueKind.GROUP, ValueKind.JSON) for field in api.fields)
        for field, path in ((one, path) for one in api.fields for path in field_path(one).inside()):
            if path.field.type not in REFERENCE_TYPES:
                continue
            targets = [self._target(uid) for uid in path.field.target_uids]
            apis = tuple(target for target in targets if target is not None)
            if apis:
                several = None if path.field.targets is UNSET else _candidates(path.field.targets, targets)
                is_spliced = several is None and not has_any_names and path.name not in _MEMBERS_OF_RECORDS
                yield Expansion(field, path, apis, several, is_spliced)

    def _found_read(self, api: Api, depth: int, include_langs: bool) -> Iterator[tuple[Api, Visibility]]:
        yield api, self.visibility_in(api)
        if include_langs:
            yield from ((api, rule) for rule in every_language(self._workspace, api))
        if depth:
            for expansion in self.expansions(api):
                for target in expansion.apis:
                    yield from self._found_read(target, depth - 1, include_langs=False)

    def _target(self, uid: str | None) -> Api | None:
        target = None if uid is None else self._workspace.api_by_uid(uid)
        return target if target is not None and in_scope(target, self._scope) else None


def _candidates(targets: Sequence[ReferenceTarget], apis: Sequence[Api | None]) -> dict[int, Candidates]:
    there = tuple(api for api in apis if api is not None)
    found = {entry_number(UNNAMED): Candidates(there, len(there) < len(apis))}
    for target, api in zip(targets, apis, strict=True):
        found[entry_number(target.endpoint)] = Candidates(() if api is None else (api,), api is None)
    return found

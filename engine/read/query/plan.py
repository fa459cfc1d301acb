"""Query + API + scope → a bound plan: typed values, the language rule, what to expand (contract 4.3-4.11)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import msgspec
from msgspec import UNSET

from engine.read.files.entry_number import UNNAMED, entry_number
from engine.read.query.filters import CONTAINS, By, Condition, Joiner, Kind, MetaKind, Value, rule_for, value_of
from engine.read.query.invalid_query import InvalidQuery, nearest, shown
from engine.read.query.parameters import EntryQuery, ListQuery, OrderKey
from engine.visibility import Visibility
from snapshots.compile.values import normalise_search
from snapshots.model import (
    META_DATES,
    RECORDS,
    REFERENCE_TYPES,
    SORTABLE_TYPES,
    TEXT_TYPES,
    Api,
    Field,
    FieldPath,
    Target,
    ValueKind,
    Workspace,
    field_path,
)

Scope: TypeAlias = frozenset[str] | None
"""The ``uid``s of the APIs a key may read; ``None`` for all (decision 27)."""

VIEWS: Final = "views"
"""The sort key that is no field: the all-time view count (contract 4.5)."""
PHRASE: Final = "q"
"""The operator by which the phrase of ``q`` is a condition."""
DEFAULT_ORDER: Final = OrderKey("publishedAt", descending=True)
_MEMBERS_OF_RECORDS: Final = frozenset(member.name for record in RECORDS for member in record.members)


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


class Reach(msgspec.Struct, frozen=True):
    """The entries a request's references may lead to: one language rule and scope at every level (contract 4.11)."""

    workspace: Workspace
    visibility: Visibility
    """The language rule of multilingual APIs."""
    scope: Scope

    def visibility_in(self, api: Api) -> Visibility:
        """An API without multilingual support delivers its main-language versions (contract 4.11)."""
        return self.visibility if api.multilingual else Visibility(self.workspace.main_language)

    def expansions(self, api: Api) -> tuple[Expansion, ...]:
        """The reference fields of ``api`` whose target is there and in scope (contract 4.8)."""
        found = []
        has_any_names = any(field.type.facts.kind in (ValueKind.GROUP, ValueKind.JSON) for field in api.fields)
        for field, path in ((one, path) for one in api.fields for path in field_path(one).inside()):
            if path.field.type not in REFERENCE_TYPES:
                continue
            targets = [self._target(uid) for uid in path.field.target_uids]
            apis = tuple(target for target in targets if target is not None)
            if apis:
                several = None if path.field.targets is UNSET else _candidates(path.field.targets, targets)
                is_spliced = several is None and not has_any_names and path.name not in _MEMBERS_OF_RECORDS
                found.append(Expansion(field, path, apis, several, is_spliced))
        return tuple(found)

    def _target(self, uid: str | None) -> Api | None:
        target = None if uid is None else self.workspace.api_by_uid(uid)
        return target if target is not None and in_scope(target, self.scope) else None


def _candidates(targets: Sequence[Target], apis: Sequence[Api | None]) -> dict[int, Candidates]:
    there = tuple(api for api in apis if api is not None)
    found = {entry_number(UNNAMED): Candidates(there, len(there) < len(apis))}
    for target, api in zip(targets, apis, strict=True):
        found[entry_number(target.endpoint)] = Candidates(() if api is None else (api,), api is None)
    return found


class Shape(msgspec.Struct, frozen=True):
    """The form of each returned entry."""

    fields: frozenset[str] | None
    """The field IDs selected; ``None`` for all."""
    include_langs: bool
    depth: int
    expansions: tuple[Expansion, ...]
    """Empty at depth 0."""
    reach: Reach
    read: tuple[tuple[Api, Visibility], ...]
    """Every API, with the language rule in it, that answers of this kind are made from: by the definitions, whatever
    fields are selected and entries found, so that nothing that follows from it tells of content."""


class BoundCondition(msgspec.Struct, frozen=True):
    """A condition of a list, or the phrase of ``q``, bound: its row of the operators' table with a typed value."""

    fields: tuple[str, ...]
    """The field that the condition is on; for a phrase, all searched fields, one of which has to hold it."""
    operator: str
    by: By
    sql: str
    """The condition on one field, as ``Rule.sql`` has it."""
    value: Value

    @property
    def about(self) -> str:
        """The condition as a person reads it."""
        if self.operator == PHRASE:
            return f"q={self.value}"
        return f"{self.fields[0]}[{self.operator}]{'' if self.value is None else self.value}"


class ListPlan(msgspec.Struct, frozen=True):
    """A list request, bound."""

    api: Api
    visibility: Visibility
    joiner: Joiner
    conditions: tuple[BoundCondition, ...]
    phrase: BoundCondition | None
    orders: tuple[OrderKey, ...]
    """Empty for the default order."""
    limit: int
    offset: int
    shape: Shape

    @property
    def all_conditions(self) -> tuple[BoundCondition, ...]:
        """The conditions and the phrase. Without any, visibility alone decides which entries are in the list."""
        return self.conditions if self.phrase is None else (*self.conditions, self.phrase)

    @property
    def is_by_views(self) -> bool:
        """Whether the order depends on view counts."""
        return any(key.field == VIEWS for key in self.orders)


class EntryPlan(msgspec.Struct, frozen=True):
    """A single-entry or object request, bound."""

    api: Api
    visibility: Visibility
    draft_key: str | None
    shape: Shape

    @property
    def is_by_views(self) -> bool:
        """False: a single entry has no order."""
        return False


def in_scope(api: Api, scope: Scope) -> bool:
    return scope is None or api.uid in scope


def bind_list(query: ListQuery, api: Api, workspace: Workspace, scope: Scope) -> ListPlan:
    """A parsed list query, bound to its API. Raises ``InvalidQuery`` for what the API or workspace does not have."""
    reach = _reach(query, api, workspace, scope)
    return ListPlan(
        api=api,
        visibility=reach.visibility_in(api),
        joiner=query.filters.joiner,
        conditions=tuple(_bound(condition, api) for condition in query.filters.conditions),
        phrase=None if query.phrase is None else _phrase(query.phrase, api),
        orders=_orders(query.orders, api),
        limit=query.limit,
        offset=query.offset,
        shape=_shape(query, api, reach),
    )


def bind_entry(query: EntryQuery, api: Api, workspace: Workspace, scope: Scope) -> EntryPlan:
    """A parsed single-entry or object query, bound to its API. Raises ``InvalidQuery``."""
    reach = _reach(query, api, workspace, scope)
    return EntryPlan(api, reach.visibility_in(api), query.draft_key, _shape(query, api, reach))


def _reach(query: ListQuery | EntryQuery, api: Api, workspace: Workspace, scope: Scope) -> Reach:
    """The languages in which an API can be asked for (decision 7)."""
    main = workspace.main_language
    lang = query.lang or main
    if lang not in workspace.languages:
        raise InvalidQuery(
            f"lang: workspace {shown(workspace.id)} has no language {shown(lang)}.{nearest(lang, workspace.languages)}"
        )
    if lang != main and not api.multilingual:
        raise InvalidQuery(
            f"lang: the API {shown(api.endpoint)} is not multilingual, so only {shown(main)} can be asked for. "
            "Leave lang out."
        )
    return Reach(workspace, Visibility(lang, main if query.lang_fallback and lang != main else None), scope)


def _shape(query: ListQuery | EntryQuery, api: Api, reach: Reach) -> Shape:
    all_expansions = reach.expansions(api) if query.depth else ()
    expansions = all_expansions
    if query.fields is not None:
        expansions = tuple(one for one in all_expansions if one.field.id in query.fields)
    read = {(one.uid, rule): (one, rule) for one, rule in _read(query, api, reach, all_expansions)}
    return Shape(query.fields, query.include_langs, query.depth, expansions, reach, tuple(read.values()))


def _read(
    query: ListQuery | EntryQuery, api: Api, reach: Reach, expansions: Sequence[Expansion]
) -> Iterator[tuple[Api, Visibility]]:
    yield api, reach.visibility_in(api)
    if query.include_langs:
        yield from ((api, rule) for rule in every_language(reach.workspace, api))
    for target in _targets(expansions):
        yield target, reach.visibility_in(target)
        if query.depth > 1:
            yield from ((below, reach.visibility_in(below)) for below in _targets(reach.expansions(target)))


def every_language(workspace: Workspace, api: Api) -> list[Visibility]:
    """Return the rules by which an API's versions in each of its languages are found."""
    return [Visibility(lang) for lang in workspace.languages_of(api)]


def _targets(expansions: Sequence[Expansion]) -> list[Api]:
    return list({api.uid: api for expansion in expansions for api in expansion.apis}.values())


def _bound(condition: Condition, api: Api) -> BoundCondition:
    kind = _kind(condition.field, api)
    if kind is None:
        names = ["id", *META_DATES, *(field.id for field in api.fields)]
        raise condition.invalid(
            f"the API {shown(api.endpoint)} has no field {shown(condition.field)}.{nearest(condition.field, names)}"
        )
    rule = rule_for(condition, kind)
    return BoundCondition((condition.field,), rule.operator, rule.by, rule.sql, value_of(condition, rule))


def _phrase(text: str, api: Api) -> BoundCondition:
    """``q`` as a condition of all fields that are searched (contract 4.7)."""
    searched = tuple(field.id for field in api.fields if field.type in TEXT_TYPES)
    return BoundCondition(searched, PHRASE, By.WORDS, CONTAINS, normalise_search(text))


def _kind(field_id: str, api: Api) -> Kind | None:
    if field_id == "id":
        return MetaKind.ID
    if field_id in META_DATES:
        return MetaKind.DATE
    field = api.field(field_id)
    return None if field is None else field.type


def _orders(keys: Sequence[OrderKey], api: Api) -> tuple[OrderKey, ...]:
    """The keys of a request, without those that repeat the end of every order (decision 8)."""
    sortable = [_sortable(key, api) for key in keys]
    while sortable and sortable[-1] == DEFAULT_ORDER:
        sortable.pop()
    return tuple(sortable)


def _sortable(key: OrderKey, api: Api) -> OrderKey:
    """Return a key by a meta date, ``views`` or a sortable field. Raises ``InvalidQuery`` for others (contract 4.5)."""
    field = api.field(key.field)
    if key.field in (*META_DATES, VIEWS) or (field is not None and field.type in SORTABLE_TYPES):
        return key
    names = [*META_DATES, VIEWS, *(f.id for f in api.fields if f.type in SORTABLE_TYPES)]
    if field is not None:
        raise InvalidQuery(
            f"orders: {shown(key.field)} is a {field.type} field, which cannot be sorted by. "
            f"Sort keys of this API: {', '.join(names)}."
        )
    raise InvalidQuery(
        f"orders: the API {shown(api.endpoint)} has no sort key {shown(key.field)}.{nearest(key.field, names)}"
    )

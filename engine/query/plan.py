"""Query + API + scope → a bound plan: typed values, the language rule, what to expand (contract 4.3-4.11)."""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from engine.query.filters import Condition, Joiner, Kind, MetaKind, Rule, Value, rule_for, value_of
from engine.query.invalid_query import InvalidQuery, nearest, shown
from engine.query.parameters import EntryQuery, ListQuery, OrderKey
from snapshots.compile.values import normalise_search
from snapshots.model import META_DATES, REFERENCE_TYPES, SORTABLE_TYPES, TEXT_TYPES, Api, Field, Workspace

Scope: TypeAlias = frozenset[str] | None
"""The ``uid``s of the APIs a key may read; ``None`` for all (decision 27)."""

VIEWS: Final = "views"
"""The sort key that is no field: the all-time view count (contract 4.5)."""
DEFAULT_ORDER: Final = OrderKey("publishedAt", descending=True)


class Visibility(msgspec.Struct, frozen=True):
    """Which version of an entry a request gets: the live one in ``lang``, else the live one in ``fallback``."""

    lang: str
    fallback: str | None = None
    """The main language, where it may stand in for ``lang``."""


class Expansion(msgspec.Struct, frozen=True):
    """A reference field whose entries are delivered in place of their IDs."""

    field: Field
    target: Api


class Reach(msgspec.Struct, frozen=True):
    """What a request's references lead to: the same language rule and scope at every level (contract 4.11)."""

    workspace: Workspace
    visibility: Visibility
    """The one that holds for multilingual APIs."""
    scope: Scope

    def visibility_in(self, api: Api) -> Visibility:
        """An API without multilingual support delivers its main-language versions (contract 4.11)."""
        return self.visibility if api.multilingual else Visibility(self.workspace.main_language)

    def expansions(self, api: Api, selected: frozenset[str] | None = None) -> tuple[Expansion, ...]:
        """The reference fields of ``api``, of those selected, whose target is there and in scope (contract 4.8)."""
        found = []
        for field in api.fields:
            if field.type not in REFERENCE_TYPES or field.target is None:
                continue
            if selected is not None and field.id not in selected:
                continue
            target = self.workspace.api_by_uid(field.target)
            if target is not None and in_scope(target, self.scope):
                found.append(Expansion(field, target))
        return tuple(found)


class Shape(msgspec.Struct, frozen=True):
    """What each returned entry looks like."""

    fields: frozenset[str] | None
    """The IDs selected; ``None`` for all."""
    include_langs: bool
    depth: int
    expansions: tuple[Expansion, ...]
    """Empty at depth 0."""
    reach: Reach


class BoundCondition(msgspec.Struct, frozen=True):
    """A condition with its rule of the table of operators and its typed value."""

    field: str
    rule: Rule
    value: Value


class ListPlan(msgspec.Struct, frozen=True):
    """A list request, bound."""

    api: Api
    visibility: Visibility
    joiner: Joiner
    conditions: tuple[BoundCondition, ...]
    phrase: str | None
    """Normalised as the searched columns are."""
    searched: tuple[str, ...]
    """The fields that ``phrase`` is looked for in."""
    orders: tuple[OrderKey, ...]
    limit: int
    offset: int
    shape: Shape

    @property
    def filtered(self) -> bool:
        """Whether anything but visibility decides which entries are in the list."""
        return bool(self.conditions) or self.phrase is not None

    @property
    def in_default_order(self) -> bool:
        return all(key == DEFAULT_ORDER for key in self.orders)

    @property
    def published_between(self) -> tuple[int | None, int | None] | None:
        """The instants after and before which entries are to be published, in UTC milliseconds, where that is all that
        decides which are in the list; ``None`` where anything else does, a phrase left aside."""
        after, before = None, None
        if self.joiner == "or" and len(self.conditions) > 1:
            return None
        for condition in self.conditions:
            value = condition.value
            if condition.field != DEFAULT_ORDER.field or not isinstance(value, int):
                return None
            if condition.rule.operator == "less_than":
                before = value if before is None else min(before, value)
            elif condition.rule.operator == "greater_than":
                after = value if after is None else max(after, value)
            else:
                return None
        return after, before


class EntryPlan(msgspec.Struct, frozen=True):
    """A single-entry or object request, bound."""

    api: Api
    visibility: Visibility
    draft_key: str | None
    shape: Shape


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
        phrase=None if query.phrase is None else normalise_search(query.phrase),
        searched=tuple(field.id for field in api.fields if field.type in TEXT_TYPES),
        orders=tuple(_sortable(key, api) for key in query.orders),
        limit=query.limit,
        offset=query.offset,
        shape=_shape(query, api, reach),
    )


def bind_entry(query: EntryQuery, api: Api, workspace: Workspace, scope: Scope) -> EntryPlan:
    """A parsed single-entry or object query, bound to its API. Raises ``InvalidQuery``."""
    reach = _reach(query, api, workspace, scope)
    return EntryPlan(api, reach.visibility_in(api), query.draft_key, _shape(query, api, reach))


def _reach(query: ListQuery | EntryQuery, api: Api, workspace: Workspace, scope: Scope) -> Reach:
    """Decision 7: which languages an API can be asked in."""
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
    expansions = reach.expansions(api, query.fields) if query.depth else ()
    return Shape(query.fields, query.include_langs, query.depth, expansions, reach)


def _bound(condition: Condition, api: Api) -> BoundCondition:
    kind = _kind(condition.field, api)
    if kind is None:
        names = ["id", *META_DATES, *(field.id for field in api.fields)]
        raise condition.invalid(
            f"the API {shown(api.endpoint)} has no field {shown(condition.field)}.{nearest(condition.field, names)}"
        )
    rule = rule_for(condition, kind)
    return BoundCondition(condition.field, rule, value_of(condition, rule))


def _kind(field_id: str, api: Api) -> Kind | None:
    if field_id == "id":
        return MetaKind.ID
    if field_id in META_DATES:
        return MetaKind.DATE
    field = api.field(field_id)
    return None if field is None else field.type


def _sortable(key: OrderKey, api: Api) -> OrderKey:
    """Contract 4.5: the meta dates, ``views``, and number, datetime, text and boolean fields."""
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

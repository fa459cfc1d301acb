"""Bind a query to an API and a scope: typed values, the language rule, what to expand (contract 4.3-4.11)."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from engine.read.query.filters import CONTAINS, By, Condition, Joiner, Kind, MetaKind, Value, rule_for, value_of
from engine.read.query.invalid_query import InvalidQuery, nearest, shown
from engine.read.query.parameters import EntryQuery, ListQuery, OrderKey
from engine.read.reader.reach import Expansion, Reach, Read, Scope, are_spliced
from engine.read.reader.reader import Reader
from engine.timeline.states import State
from engine.visibility import Visibility
from snapshots.compile.values import normalise_search
from snapshots.ids import ID_IN_WORDS, valid_id
from snapshots.model import META_DATES, REFERENCE_TYPES, SORTABLE_TYPES, TEXT_TYPES, Api

VIEWS: Final = "views"
"""The sort key that is no field: the all-time view count (contract 4.5)."""
PHRASE: Final = "q"
"""The operator by which the phrase of ``q`` is a condition."""
_WAYS: Final = ("asc", "ascending", "desc", "descending")
_WITH_DIRECTION: Final = re.compile(
    r"(?:(?P<before>{0})[^a-z0-9]+)?(?P<name>[a-z].*?)(?:[^a-z0-9]+(?P<after>{0}))?[^a-z0-9]*".format("|".join(_WAYS)),
    re.IGNORECASE,
)
_LONGEST_KEY: Final = 100
"""Characters of a key in which a direction is looked for."""
DEFAULT_ORDER: Final = OrderKey("publishedAt", descending=True)


class Shape(msgspec.Struct, frozen=True):
    """The form of each returned entry."""

    fields: frozenset[str] | None
    """The field IDs selected; ``None`` for all."""
    include_langs: bool
    depth: int
    expansions: tuple[Expansion, ...]
    """Empty at depth 0."""
    is_spliced: bool
    """Whether the values of all these are found by the bytes of their names."""
    reach: Reach
    read: Read
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


class Criteria(msgspec.Struct, frozen=True):
    """The conditions and the order of a list, bound to its API."""

    joiner: Joiner
    conditions: tuple[BoundCondition, ...]
    phrase: BoundCondition | None
    orders: tuple[OrderKey, ...]
    """Empty for the default order."""

    @property
    def all_conditions(self) -> tuple[BoundCondition, ...]:
        """The conditions and the phrase. Without any, visibility alone decides which entries are in the list."""
        return self.conditions if self.phrase is None else (*self.conditions, self.phrase)

    @property
    def is_by_views(self) -> bool:
        """Whether the order depends on view counts."""
        return any(key.field == VIEWS for key in self.orders)


class Wanted(msgspec.Struct, frozen=True):
    """The conditions that a list of all language versions takes beside its criteria, and no list of a client does."""

    lang: str | None = None
    """``None`` for all languages."""
    state: State | None = None
    """``None`` for all states."""
    part_of_id: str = ""
    """A part of the entry ID; case does not count."""
    ids: Collection[str] | None = None
    """Entry IDs; ``None`` for all."""
    first: int = 0
    """The position in the list at which the page begins."""
    count: int = 1_000_000_000
    """The versions on the page at most."""


class ListPlan(Criteria, frozen=True):
    """A list request, bound."""

    api: Api
    visibility: Visibility
    limit: int
    offset: int
    shape: Shape


class EntryPlan(msgspec.Struct, frozen=True):
    """A single-entry or object request, bound."""

    api: Api
    entry_id: str | None
    """The ID as asked for, of any form; ``None`` for the item of an object API."""
    visibility: Visibility
    draft_key: str | None
    shape: Shape

    @property
    def is_by_views(self) -> bool:
        """False: a single entry has no order."""
        return False


def bind_list(query: ListQuery, api: Api, reader: Reader, scope: Scope) -> ListPlan:
    """Bind a parsed list query to its API. Raises ``InvalidQuery`` for what the API or workspace does not have."""
    reach = _reach(query, api, reader, scope)
    found = criteria_of(query, api)
    if query.strict:
        _check(query, api)
    return ListPlan(
        *(found.joiner, found.conditions, found.phrase, found.orders),
        api=api,
        visibility=reach.visibility_in(api),
        limit=query.limit,
        offset=query.offset,
        shape=_shape(query, api, reach),
    )


def criteria_of(query: ListQuery, api: Api) -> Criteria:
    """Bind the conditions and the order of a list query. Raises ``InvalidQuery`` for what the API does not have."""
    return Criteria(
        query.filters.joiner,
        tuple([_bound(condition, api) for condition in query.filters.conditions]),
        None if query.phrase is None else _phrase(query.phrase, api),
        _orders(query.orders, api),
    )


def bind_entry(query: EntryQuery, api: Api, entry_id: str | None, reader: Reader, scope: Scope) -> EntryPlan:
    """Bind a parsed query for an entry, or with ``None`` for the item of an object API. Raises ``InvalidQuery``."""
    reach = _reach(query, api, reader, scope)
    if query.strict:
        _check(query, api)
    return EntryPlan(api, entry_id, reach.visibility_in(api), query.draft_key, _shape(query, api, reach))


def _check(query: ListQuery | EntryQuery, api: Api) -> None:
    """Raise ``InvalidQuery`` for fields that the API does not have, and for values that no entry of it can have: these
    have no effect, or match nothing, unless a request is read strictly (decision 76)."""
    names = ["id", *META_DATES, *(field.id for field in api.fields)]
    unknown = {name for name in query.fields or () if name}.difference(names)
    if unknown:
        name = min(unknown)
        raise InvalidQuery(f"fields: the API {shown(api.endpoint)} has no field {shown(name)}.{nearest(name, names)}")
    for condition in query.filters.conditions if isinstance(query, ListQuery) else ():
        _check_value(condition, api)


def _check_value(condition: Condition, api: Api) -> None:
    field = api.field(condition.field)
    if condition.operator.endswith("exists"):
        return
    if field is not None and field.options is not None and condition.value not in field.options:
        hint = nearest(condition.value, field.options)
        if not condition.value:
            hint += " To find entries without a value, use not_exists."
        raise condition.invalid(f"the field {shown(field.id)} has no option {shown(condition.value)}.{hint}")
    is_id = condition.field == "id" if field is None else field.type in REFERENCE_TYPES
    if is_id and not valid_id(condition.value):
        raise condition.invalid(f"an entry ID is {ID_IN_WORDS}, got {shown(condition.value)}.")


def _reach(query: ListQuery | EntryQuery, api: Api, reader: Reader, scope: Scope) -> Reach:
    """The languages in which an API can be asked for (decision 7)."""
    workspace = reader.workspace
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
    return reader.reach(scope, Visibility(lang, main if query.lang_fallback and lang != main else None))


def _shape(query: ListQuery | EntryQuery, api: Api, reach: Reach) -> Shape:
    expansions = reach.expansions(api) if query.depth else ()
    if query.fields is not None:
        expansions = tuple(one for one in expansions if one.field.id in query.fields)
    read = reach.read(api, query.depth, query.include_langs)
    is_spliced = not expansions or are_spliced(expansions)
    return Shape(query.fields, query.include_langs, query.depth, expansions, is_spliced, reach, read)


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
    hint = _direction(key, names) or nearest(key.field, names)
    raise InvalidQuery(f"orders: the API {shown(api.endpoint)} has no sort key {shown(key.field)}.{hint}")


def _direction(key: OrderKey, names: Collection[str]) -> str:
    """Return how a key is written that says its direction in a word, as in ``price:desc``; else nothing."""
    said = key.field.lower()
    if said in _WAYS:
        return ' A "-" before a key means descending, as in "-publishedAt".'
    found = _WITH_DIRECTION.fullmatch(key.field) if len(said) <= _LONGEST_KEY else None
    if found is None or found["name"] not in names:
        return ""
    way = (found["before"] or found["after"] or "").lower()
    if way.startswith("desc") or key.descending:
        return f' Write "-{found["name"]}": a "-" before a key means descending.'
    return f' Write "{found["name"]}": without "-", the order is ascending.'

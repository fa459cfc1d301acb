"""A request → the bytes of its answer: parse → bind → render → run → expand → shape (design section 2)."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from engine.page_views.counting.totals import NO_VIEWS, ViewTotals
from engine.query.entries import (
    Documents,
    Pieces,
    Version,
    langs_document,
    versions,
    with_fields,
    with_langs,
    with_values,
)
from engine.query.parameters import parse_entry_query, parse_list_query
from engine.query.plan import VIEWS, EntryPlan, ListPlan, Scope, Shape, bind_entry, bind_list, in_scope
from engine.query.previews import preview
from engine.query.references import expand, expanded_values
from engine.query.sql import count_statement, list_statement, matches_statement
from engine.query.stages import UNWATCHED, Stages
from engine.reader.matches import Matches
from engine.reader.reader import Reader
from engine.reader.value_orders import page_of
from snapshots.compile.values import valid_id
from snapshots.model import Api
from snapshots.problems import ParquetryError


class NotFound(ParquetryError):
    """There is nothing there that may be delivered (404)."""


def answer_list(
    reader: Reader,
    api: Api,
    scope: Scope,
    raw_query: bytes,
    now: int,
    views: ViewTotals = NO_VIEWS,
    stages: Stages = UNWATCHED,
) -> bytes:
    """The list response (contract 2.2 and 4.1) to a query string as sent, at the instant ``now`` (UTC ms).

    ``views`` are the all-time counts of entries, for ``orders=views``; what is not in it counts zero.
    Raises ``InvalidQuery`` and ``QueryTimeout``.
    """
    query = parse_list_query(raw_query)
    stages.done("parse")
    plan = bind_list(query, api, reader.workspace, scope)
    stages.done("bind")
    return list_answer(reader, plan, now, views, stages)


def list_answer(
    reader: Reader, plan: ListPlan, now: int, views: ViewTotals = NO_VIEWS, stages: Stages = UNWATCHED
) -> bytes:
    """The list response to a bound plan, as ``answer_list`` gives it. Raises ``QueryTimeout``."""
    deadline = reader.deadline()
    total, rows = _selected(reader, plan, now, views, deadline, stages)
    returned = _versions(reader, plan.api, plan.shape, rows, now)
    stages.done("read")
    documents = expand(reader, returned, plan.shape, now, deadline)
    stages.done("expand")
    document = _list_document((_entry(version, plan.shape, documents) for version in returned), total, plan)
    stages.done("shape")
    return document


def answer_entry(
    reader: Reader,
    api: Api,
    entry_id: str,
    scope: Scope,
    raw_query: bytes,
    draft_key_header: bytes | None,
    now: int,
    draft_secret: bytes,
    stages: Stages = UNWATCHED,
) -> bytes:
    """One entry of a list API (contract 4.2), or its draft where a draft key is presented (4.10).

    ``draft_key_header`` is the value of ``X-Draft-Key`` as sent, ``draft_secret`` what derived keys are made with.
    Raises ``InvalidQuery``, ``NotFound`` and ``QueryTimeout``.
    """
    query = parse_entry_query(raw_query, draft_key_header)
    stages.done("parse")
    plan = bind_entry(query, api, reader.workspace, scope)
    stages.done("bind")
    return entry_answer(reader, plan, entry_id, now, draft_secret, stages)


def answer_object(
    reader: Reader,
    api: Api,
    scope: Scope,
    raw_query: bytes,
    draft_key_header: bytes | None,
    now: int,
    draft_secret: bytes,
    stages: Stages = UNWATCHED,
) -> bytes:
    """The item of an object API, as ``answer_entry`` gives an entry."""
    query = parse_entry_query(raw_query, draft_key_header)
    stages.done("parse")
    plan = bind_entry(query, api, reader.workspace, scope)
    stages.done("bind")
    return entry_answer(reader, plan, None, now, draft_secret, stages)


def schema_document(reader: Reader, scope: Scope) -> bytes:
    """The schema response (contract 2.3), with the APIs in scope only."""
    apis = [
        {
            "name": api.name,
            "endpoint": api.endpoint,
            "kind": api.kind,
            "fields": [
                {"id": field.id, "name": field.name, "type": field.type, "required": field.required}
                for field in api.fields
            ],
        }
        for api in reader.workspace.apis
        if in_scope(api, scope)
    ]
    return msgspec.json.encode({"workspace": reader.workspace.id, "apis": apis})


def entry_answer(
    reader: Reader,
    plan: EntryPlan,
    entry_id: str | None,
    now: int,
    draft_secret: bytes,
    stages: Stages = UNWATCHED,
) -> bytes:
    """One entry, or with ``None`` the item of an object API, as a bound plan asks for it.

    Raises ``NotFound`` and ``QueryTimeout``.
    """
    deadline = reader.deadline()
    if entry_id is not None and not valid_id(entry_id):
        version = None
    elif plan.draft_key is not None:
        version = preview(reader, plan, entry_id, now, draft_secret, deadline)
    else:
        version = _live_version(reader, plan, entry_id, now)
    if version is None:
        name = f'"{plan.api.endpoint}"'
        if entry_id is not None:
            name = f'"{entry_id}" in {name}' if valid_id(entry_id) else f"such an ID in {name}"
        if plan.draft_key is not None:
            raise NotFound(f"There are no unpublished changes of {name} that this draft key opens.")
        raise NotFound(f'There is no {name} published in "{plan.visibility.lang}" now.')
    stages.done("read")
    documents = expand(reader, [version], plan.shape, now, deadline)
    stages.done("expand")
    document = b"".join(_entry(version, plan.shape, documents))
    stages.done("shape")
    return document


def _live_version(reader: Reader, plan: EntryPlan, entry_id: str | None, now: int) -> Version | None:
    """The version the language rule chooses (contract 4.11)."""
    positions = reader.positions(plan.api)
    visibility = plan.visibility
    row = positions.item(visibility, now) if entry_id is None else positions.entry(entry_id, visibility, now)
    return None if row is None else _versions(reader, plan.api, plan.shape, [row], now)[0]


def _selected(
    reader: Reader, plan: ListPlan, now: int, views: ViewTotals, deadline: float, stages: Stages
) -> tuple[int, Sequence[int]]:
    """How many entries a list has, and the rows of its page."""
    counted = any(key.field == VIEWS for key in plan.orders) and reader.take_views(views)
    matches = reader.matches(plan, deadline)
    if matches is not None:
        stages.done("search")
    listed = _listed(reader, plan, matches, now, deadline, stages, counted=counted)
    if listed is not None:
        page = listed[plan.offset : plan.offset + plan.limit]
        stages.done("select")
        return len(listed), page
    keys = reader.sort_keys(plan)
    chosen = _stored_rows(reader, plan, matches, now, deadline) if keys else None
    if keys and chosen is not None:
        page = page_of(chosen, keys, plan.offset, plan.limit)
        stages.done("select")
        return len(chosen), page
    return _selected_by_statement(reader, plan, matches, now, deadline, stages, counted=counted)


def _selected_by_statement(
    reader: Reader, plan: ListPlan, matches: Matches | None, now: int, deadline: float, stages: Stages, *, counted: bool
) -> tuple[int, Sequence[int]]:
    if counted:
        reader.load_views()
    if plan.filtered:
        statement = list_statement(plan, now, counted=counted, matches=matches)
        stages.done("render")
        found = reader.run(statement, deadline)
        total, rows = _filtered_total(reader, plan, matches, found, now, deadline), [row for row, _ in found]
    else:
        total = reader.epoch(plan.api, plan.visibility, now, deadline).total
        rows = []
        if plan.offset < total:
            statement = list_statement(plan, now, counted=counted)
            stages.done("render")
            rows = [row for (row,) in reader.run(statement, deadline)]
    stages.done("run")
    return total, rows


def _listed(
    reader: Reader, plan: ListPlan, matches: Matches | None, now: int, deadline: float, stages: Stages, *, counted: bool
) -> Sequence[int] | None:
    """All rows of a list in the default order, or by views alone; ``None`` for any other, which a statement sorts."""
    by_views = len(plan.orders) == 1 and plan.orders[0].field == VIEWS
    if by_views and counted and not plan.filtered:
        return reader.view_order(plan, now, deadline)
    if not (by_views or plan.in_default_order):
        return None
    listed = _stored_rows(reader, plan, matches, now, deadline)
    if listed is None and plan.filtered:
        listed = _matching_rows(reader, plan, matches, now, deadline, stages)
    if listed is not None and by_views and counted:
        return reader.by_views(listed, plan.api, deadline, descending=plan.orders[0].descending)
    return listed


def _matching_rows(
    reader: Reader, plan: ListPlan, matches: Matches | None, now: int, deadline: float, stages: Stages
) -> Sequence[int]:
    """All rows of a filtered list in default order: one statement finds what meets the conditions."""
    api, visibility = plan.api, plan.visibility
    rows = None if visibility.fallback else reader.positions(api).rows[visibility.lang]
    statement = matches_statement(plan, rows, matches)
    stages.done("render")
    found = reader.run_for_positions(statement, deadline)
    stages.done("run")
    return reader.of_visible(found, api, visibility, now, deadline)


def _stored_rows(
    reader: Reader, plan: ListPlan, matches: Matches | None, now: int, deadline: float
) -> Sequence[int] | None:
    """All rows of a list in default order, where no statement is needed to choose them; ``None`` where one is.

    Rows are stored by ``publishedAt``, so what conditions on it alone leave is a slice.
    """
    if matches is not None and matches.decide:
        return array("q", matches.of(reader.visible(plan.api, plan.visibility, now, deadline)).tobytes())
    between = plan.published_between
    if plan.phrase is not None or between is None:
        return None
    rows = reader.visible(plan.api, plan.visibility, now, deadline)
    return reader.positions(plan.api).published_between(rows, *between)


def _filtered_total(
    reader: Reader,
    plan: ListPlan,
    matches: Matches | None,
    rows: Sequence[Sequence[Any]],
    now: int,
    deadline: float,
) -> int:
    if rows:
        return int(rows[0][-1])
    if plan.offset == 0:
        return 0
    [(total,)] = reader.run(count_statement(plan, now, matches), deadline)
    return int(total)


def _list_document(entries: Iterable[Pieces], total: int, plan: ListPlan) -> bytes:
    """The list response (contract 2.2)."""
    pieces = [b'{"contents":[']
    for entry in entries:
        pieces += entry
        pieces.append(b",")
    if len(pieces) > 1:
        pieces.pop()
    pieces.append(b'],"totalCount":%d,"offset":%d,"limit":%d}' % (total, plan.offset, plan.limit))
    return b"".join(pieces)


def _versions(reader: Reader, api: Api, shape: Shape, rows: Sequence[int], now: int) -> list[Version]:
    positions = reader.positions(api)
    if not shape.include_langs:
        return versions(rows, positions, shape.expansions)
    return versions(
        rows,
        positions,
        shape.expansions,
        lambda row: langs_document(positions.language(row), positions.live_languages(row, now)),
    )


def _entry(version: Version, shape: Shape, documents: Documents) -> Pieces:
    values = expanded_values(version, shape.expansions, documents)
    if shape.fields is None:
        pieces = with_values(version.body, values)
    else:
        pieces = (with_fields(version.body, values, shape.fields),)
    return with_langs(pieces, version.langs)

"""A request → the bytes of its answer: parse → bind → render → run → expand → shape (design section 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from engine.entries import Documents, Version, plain_versions, versions, with_fields, with_langs, with_values
from engine.page_views.totals import NO_VIEWS, ViewTotals
from engine.plan import VIEWS, EntryPlan, ListPlan, Scope, Shape, bind_entry, bind_list, in_scope
from engine.previews import preview
from engine.query import parse_entry_query, parse_list_query
from engine.reader import Reader, Row
from engine.references import expand, expanded_values
from engine.sql import count_statement, entry_statement, list_statement, page_statement, row_columns
from snapshots.model import Api
from snapshots.problems import ParquetryError
from snapshots.values import valid_id


class NotFound(ParquetryError):
    """There is nothing there that may be delivered (404)."""


def answer_list(
    reader: Reader, api: Api, scope: Scope, raw_query: bytes, now: int, views: ViewTotals = NO_VIEWS
) -> bytes:
    """The list response (contract 2.2 and 4.1) to a query string as sent, at the instant ``now`` (UTC ms).

    ``views`` are the all-time counts of entries, for ``orders=views``; what is not in it counts zero.
    Raises ``InvalidQuery`` and ``QueryTimeout``.
    """
    return list_answer(reader, bind_list(parse_list_query(raw_query), api, reader.workspace, scope), now, views)


def list_answer(reader: Reader, plan: ListPlan, now: int, views: ViewTotals = NO_VIEWS) -> bytes:
    """The list response to a bound plan, as ``answer_list`` gives it. Raises ``QueryTimeout``."""
    api = plan.api
    deadline = reader.deadline()
    counted = any(key.field == VIEWS for key in plan.orders) and reader.load_views(views)
    if plan.filtered:
        rows = reader.run(list_statement(plan, now, counted=counted), deadline)
        total = _filtered_total(reader, plan, rows, now, deadline)
    else:
        total = reader.epoch(api, plan.visibility, now, deadline).total
        if plan.offset >= total:
            rows = []
        elif counted and len(plan.orders) == 1:
            rows = _rows_by_views(reader, plan, now, deadline)
        else:
            rows = reader.run(list_statement(plan, now, counted=counted), deadline)
    found = _versions(reader, api, plan.shape, rows)
    documents = expand(reader, found, plan.shape, now, deadline)
    return _list_document([_entry(version, plan.shape, documents) for version in found], total, plan)


def answer_entry(
    reader: Reader,
    api: Api,
    entry_id: str,
    scope: Scope,
    raw_query: bytes,
    draft_key_header: bytes | None,
    now: int,
    draft_secret: bytes,
) -> bytes:
    """One entry of a list API (contract 4.2), or its draft where a draft key is presented (4.10).

    ``draft_key_header`` is the value of ``X-Draft-Key`` as sent, ``draft_secret`` what derived keys are made with.
    Raises ``InvalidQuery``, ``NotFound`` and ``QueryTimeout``.
    """
    plan = bind_entry(parse_entry_query(raw_query, draft_key_header), api, reader.workspace, scope)
    return entry_answer(reader, plan, entry_id, now, draft_secret)


def answer_object(
    reader: Reader,
    api: Api,
    scope: Scope,
    raw_query: bytes,
    draft_key_header: bytes | None,
    now: int,
    draft_secret: bytes,
) -> bytes:
    """The item of an object API, as ``answer_entry`` gives an entry."""
    plan = bind_entry(parse_entry_query(raw_query, draft_key_header), api, reader.workspace, scope)
    return entry_answer(reader, plan, None, now, draft_secret)


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


def entry_answer(reader: Reader, plan: EntryPlan, entry_id: str | None, now: int, draft_secret: bytes) -> bytes:
    """One entry, or with ``None`` the item of an object API, as a bound plan asks for it.

    Raises ``NotFound`` and ``QueryTimeout``.
    """
    deadline = reader.deadline()
    if entry_id is not None and not valid_id(entry_id):
        version = None
    elif plan.draft_key is not None:
        version = preview(reader, plan, entry_id, now, draft_secret, deadline)
    else:
        version = _live_version(reader, plan, entry_id, now, deadline)
    if version is None:
        name = f'"{plan.api.endpoint}"'
        if entry_id is not None:
            name = f'"{entry_id}" in {name}' if valid_id(entry_id) else f"such an ID in {name}"
        if plan.draft_key is not None:
            raise NotFound(f"There are no unpublished changes of {name} that this draft key opens.")
        raise NotFound(f'There is no {name} published in "{plan.visibility.lang}" now.')
    return _entry(version, plan.shape, expand(reader, [version], plan.shape, now, deadline))


def _live_version(reader: Reader, plan: EntryPlan, entry_id: str | None, now: int, deadline: float) -> Version | None:
    """The version the language rule chooses (contract 4.11)."""
    columns = row_columns(plan.api, plan.shape.expansions, plan.shape.include_langs, reader.workspace)
    statement = entry_statement(plan.api, entry_id, plan.visibility, columns, reader.workspace, now)
    live = [row for row in reader.run(statement, deadline) if row[-1]]
    # The item of an object API may have another ID in each language: the language asked for comes first.
    live.sort(key=lambda row: not row[-2])
    found = _versions(reader, plan.api, plan.shape, live[:1])
    return found[0] if found else None


def _rows_by_views(reader: Reader, plan: ListPlan, now: int, deadline: float) -> list[Row]:
    """A page of the list sorted by views alone: the order is made once, so a page costs what it holds."""
    positions = reader.view_order(plan, now, deadline)[plan.offset : plan.offset + plan.limit]
    if not (plan.shape.expansions or plan.shape.include_langs):
        return [(position,) for position in positions]
    rows = {row[0]: row for row in reader.run(page_statement(plan, positions, now), deadline)}
    return [rows[position] for position in positions]


def _filtered_total(reader: Reader, plan: ListPlan, rows: Sequence[Sequence[Any]], now: int, deadline: float) -> int:
    if rows:
        return int(rows[0][-1])
    if plan.offset == 0:
        return 0
    [(total,)] = reader.run(count_statement(plan, now), deadline)
    return int(total)


def _list_document(entries: Sequence[bytes], total: int, plan: ListPlan) -> bytes:
    """The list response (contract 2.2). One join makes it: it may have megabytes, and formatting copies them slowly."""
    parts = [b'{"contents":[']
    for number, entry in enumerate(entries):
        parts += (b",", entry) if number else (entry,)
    parts.append(b'],"totalCount":%d,"offset":%d,"limit":%d}' % (total, plan.offset, plan.limit))
    return b"".join(parts)


def _versions(reader: Reader, api: Api, shape: Shape, rows: Sequence[Sequence[Any]]) -> list[Version]:
    if shape.include_langs:
        return versions(rows, reader.bodies(api), reader.workspace, api, len(shape.expansions))
    return plain_versions(rows, reader.bodies(api), len(shape.expansions))


def _entry(version: Version, shape: Shape, documents: Documents) -> bytes:
    values = expanded_values(version, shape.expansions, documents)
    if shape.fields is None:
        body = with_values(version.body, values)
    else:
        body = with_fields(version.body, values, shape.fields)
    return with_langs(body, version.langs)

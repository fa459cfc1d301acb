"""A request → the bytes of its answer: parse → bind → select → read → expand → write (design section 2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import UNSET

from engine.read.query.answers.entries import (
    Documents,
    Version,
    expanded_values,
    langs_document,
    versions,
    with_fields,
    with_langs,
    with_values,
)
from engine.read.query.answers.group_values import Pieces
from engine.read.query.answers.previews import preview
from engine.read.query.answers.references import expand
from engine.read.query.answers.signals import Signals, entry_signals, list_signals, workspace_signals
from engine.read.query.parameters import parse_entry_query, parse_list_query
from engine.read.query.plan import EntryPlan, ListPlan, Scope, Shape, are_spliced, bind_entry, bind_list, in_scope
from engine.read.query.selection.select import select
from engine.read.query.stages import UNWATCHED, Stages
from engine.read.reader.reader import Reader
from engine.views.counting.totals import NO_VIEWS, ViewTotals
from snapshots.ids import valid_id
from snapshots.model import Api, Field
from snapshots.problems import ParquetryError


class Document(msgspec.Struct, frozen=True):
    """An answer as it is written."""

    body: bytes
    """JSON."""
    signals: Signals


class NotFound(ParquetryError):
    """The path leads to nothing that may be delivered (404)."""


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

    ``views`` are the all-time counts of entries, for ``orders=views``; an entry without one counts zero.
    Raises ``InvalidQuery`` and ``QueryTimeout``.
    """
    query = parse_list_query(raw_query)
    stages.done("parse")
    plan = bind_list(query, api, reader.workspace, scope)
    stages.done("bind")
    return list_answer(reader, plan, now, views, stages).body


def list_answer(
    reader: Reader, plan: ListPlan, now: int, views: ViewTotals = NO_VIEWS, stages: Stages = UNWATCHED
) -> Document:
    """The list response to a bound plan, as ``answer_list`` gives it. Raises ``QueryTimeout``."""
    deadline = reader.deadline()
    selection = select(reader, plan, now, views, deadline, stages)
    stages.done("select")
    returned = _versions(reader, plan.api, plan.shape, selection.rows, now)
    stages.done("read")
    expanded = expand(reader, returned, plan.shape, now, deadline)
    stages.done("expand")
    entries = (_entry(version, plan.shape, expanded.documents) for version in returned)
    body = _list_document(entries, selection.total, plan)
    signals = list_signals(reader, plan, expanded, now, deadline)
    stages.done("shape")
    return Document(body, signals)


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

    ``draft_key_header`` is the value of ``X-Draft-Key`` as sent, ``draft_secret`` the secret of derived keys.
    Raises ``InvalidQuery``, ``NotFound`` and ``QueryTimeout``.
    """
    query = parse_entry_query(raw_query, draft_key_header)
    stages.done("parse")
    plan = bind_entry(query, api, reader.workspace, scope)
    stages.done("bind")
    return entry_answer(reader, plan, entry_id, now, draft_secret, stages).body


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
    return entry_answer(reader, plan, None, now, draft_secret, stages).body


def schema_document(reader: Reader, scope: Scope) -> Document:
    """The schema response (contract 2.3), with the APIs in scope only."""
    apis = [
        {
            "name": api.name,
            "endpoint": api.endpoint,
            "kind": api.kind,
            "fields": [_field_document(field) for field in api.fields],
        }
        for api in reader.workspace.apis
        if in_scope(api, scope)
    ]
    body = msgspec.json.encode({"workspace": reader.workspace.id, "apis": apis})
    return Document(body, workspace_signals(reader.workspace.id))


def _field_document(field: Field) -> dict[str, object]:
    shown: dict[str, object] = {"id": field.id, "name": field.name, "type": field.type, "required": field.required}
    if field.fields is not UNSET:
        shown["fields"] = [_field_document(inner) for inner in field.fields]
    if field.groups is not UNSET:
        shown["groups"] = [
            {"id": kind.id, "name": kind.name, "fields": [_field_document(inner) for inner in kind.fields]}
            for kind in field.groups
        ]
    return shown


def entry_answer(
    reader: Reader,
    plan: EntryPlan,
    entry_id: str | None,
    now: int,
    draft_secret: bytes,
    stages: Stages = UNWATCHED,
) -> Document:
    """One entry, or with ``None`` the item of an object API, as a bound plan asks for it.

    Raises ``NotFound`` and ``QueryTimeout``.
    """
    deadline = reader.deadline()
    if entry_id is not None and not valid_id(entry_id):
        version = None
    elif plan.draft_key is not None:
        version = preview(reader, plan, entry_id, now, draft_secret)
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
    expanded = expand(reader, [version], plan.shape, now, deadline)
    stages.done("expand")
    body = b"".join(_entry(version, plan.shape, expanded.documents))
    signals = entry_signals(reader, plan, version, expanded, now, deadline)
    stages.done("shape")
    return Document(body, signals)


def _live_version(reader: Reader, plan: EntryPlan, entry_id: str | None, now: int) -> Version | None:
    """The version the language rule chooses (contract 4.11)."""
    rows, visibility = reader.rows(plan.api), plan.visibility
    row = rows.item(visibility, now) if entry_id is None else rows.entry(entry_id, visibility, now)
    return None if row is None else _versions(reader, plan.api, plan.shape, [row], now)[0]


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
    stored = reader.rows(api)
    if not shape.include_langs:
        return versions(rows, stored, shape.expansions)
    return versions(
        rows,
        stored,
        shape.expansions,
        lambda row: langs_document(stored.language(row), stored.live_languages(row, now)),
    )


def _entry(version: Version, shape: Shape, documents: Documents) -> Pieces:
    values = expanded_values(version, shape.expansions, documents)
    if shape.fields is None:
        pieces = with_values(version.body, values, spliced=are_spliced(shape.expansions))
    else:
        pieces = (with_fields(version.body, values, shape.fields),)
    return with_langs(pieces, version.langs)

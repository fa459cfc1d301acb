"""``answer_to``: select, read, expand and write the answer of a bound plan (design section 2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from msgspec import UNSET

from engine.read.files.unusable import SnapshotUnusable
from engine.read.query.answers.answer_cache import Answer, Lifetime, content_lifetime, views_lifetime
from engine.read.query.answers.bind import ChangesPlan, NotFound, Plan, SchemaPlan, ViewsPlan
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
from engine.read.query.answers.feed import feed_answer
from engine.read.query.answers.group_values import Pieces
from engine.read.query.answers.previews import preview
from engine.read.query.answers.references import expand
from engine.read.query.answers.signals import entry_signals, list_signals, views_signals, workspace_signals
from engine.read.query.answers.view_counts import views_document
from engine.read.query.plan import EntryPlan, ListPlan, Shape
from engine.read.query.selection.select import select
from engine.read.query.stages import UNWATCHED, Stages
from engine.read.reader.reach import in_scope
from engine.read.reader.reader import Reader
from engine.read.reader.statement import KEPT_ONLY
from engine.timeline.compared_files import ComparedFiles
from engine.timeline.points import Point, PointGone
from engine.views.counting.counts import Counts
from engine.views.counting.totals import NO_VIEWS, ViewTotals
from snapshots.ids import valid_id
from snapshots.model import NEVER, Api, Field
from snapshots.store.current import Current
from snapshots.store.durable import StoreError
from snapshots.store.manifest import ManifestError
from snapshots.store.store import MissingVersion, WorkspaceStore

_NO_COUNTS: Final = Counts()


class History(msgspec.Struct, frozen=True):
    """The versions of a workspace, for changes."""

    workspace_store: WorkspaceStore
    terms: Current | None
    """When each was current."""
    compared: ComparedFiles | None = None
    """The files that were compared before."""


class Source(msgspec.Struct, frozen=True):
    """The state that plans are answered from."""

    reader: Reader
    """The version that they are bound to."""
    now: int
    """The instant at which content is read, UTC milliseconds."""
    totals: ViewTotals = NO_VIEWS
    """The all-time view counts of entries, for ``orders=views``; an entry without one counts zero."""
    counts: Counts = _NO_COUNTS
    """All view counts."""
    sent_at: int | None = None
    """The instant of the request, where that is not ``now``."""
    draft_secret: bytes = b""
    """The secret of derived draft keys."""
    history: History | None = None
    kept_only: bool = False
    """Whether lists are made of parts that are kept, and of nothing that takes longer."""

    def deadline(self) -> float:
        """Return when the request is over its time limit, as the reader takes it."""
        return KEPT_ONLY if self.kept_only else self.reader.deadline()


def answer_to(plan: Plan, source: Source, stages: Stages = UNWATCHED) -> Answer:
    """Return the answer to a plan.

    Raises ``NotFound``, ``InvalidQuery``, ``PointGone``, ``SnapshotUnusable``, ``QueryTimeout``, and ``NotKept`` where
    what is kept has to do and does not.
    """
    match plan:
        case ListPlan():
            return _list_answer(plan, source, stages)
        case EntryPlan():
            return _entry_answer(plan, source, stages)
        case ViewsPlan():
            return _views_answer(plan, source)
        case ChangesPlan():
            return _changes_answer(plan, source)
    return _schema_answer(plan, source)


def _list_answer(plan: ListPlan, source: Source, stages: Stages) -> Answer:
    """The list response (contract 2.2 and 4.1)."""
    reader, now = source.reader, source.now
    deadline = source.deadline()
    selection = select(reader, plan, now, source.totals, deadline, stages)
    stages.done("select")
    returned = _versions(reader, plan.api, plan.shape, selection.rows, now)
    stages.done("read")
    expanded = expand(reader, returned, plan.shape, now, deadline)
    stages.done("expand")
    body = _list_document(_entries(returned, plan.shape, expanded.documents), selection.total, plan)
    # The first API read is that of the list, whose epoch is known by now.
    is_alone = len(plan.shape.read) == 1
    epoch = selection.epoch if is_alone else reader.common_epoch(plan.shape.read, now, deadline)
    signals = list_signals(reader, plan, expanded, epoch)
    stages.done("shape")
    return Answer(body, content_lifetime(plan, epoch, source.totals.generation), signals)


def _entry_answer(plan: EntryPlan, source: Source, stages: Stages) -> Answer:
    """One entry of a list API (contract 4.2) or the item of an object API, or its draft where a draft key is presented
    (4.10)."""
    reader, now, entry_id = source.reader, source.now, plan.entry_id
    deadline = source.deadline()
    if entry_id is not None and not valid_id(entry_id):
        version = None
    elif plan.draft_key is not None:
        version = preview(reader, plan, now, source.draft_secret, deadline)
    else:
        version = _live_version(reader, plan, now)
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
    [entry] = _entries([version], plan.shape, expanded.documents)
    body = b"".join(entry)
    epoch = reader.common_epoch(plan.shape.read, now, deadline)
    signals = entry_signals(reader, plan, version, expanded, epoch)
    stages.done("shape")
    return Answer(body, content_lifetime(plan, epoch, 0), signals)


def _views_answer(plan: ViewsPlan, source: Source) -> Answer:
    """The view-count response (contract 2.4). Counts are always the present ones, so that an answer about pinned
    content has no lifetime."""
    reader, now = source.reader, source.now
    sent_at = now if source.sent_at is None else source.sent_at
    body = views_document(reader, plan.api, plan.query, now, sent_at, source.counts)
    lifetime = views_lifetime(reader, plan.api, now, source.totals.generation) if now == sent_at else None
    return Answer(body, lifetime, views_signals(reader.workspace.id, plan.api))


def _changes_answer(plan: ChangesPlan, source: Source) -> Answer:
    """The changes that the plan asks for. They are the same until the next flip, so that a token of an earlier instant
    is as good."""
    history, present = source.history, Point(source.reader.version, source.now)
    if history is None:
        raise ValueError("Changes are answered from a history.")
    workspace_store = history.workspace_store
    try:
        feed = feed_answer(workspace_store, present, plan.query, plan.scope, history.terms, history.compared)
    except MissingVersion:
        named = (point for point in plan.query.points if not workspace_store.has(point.version))
        raise PointGone(next(named, present), without="since") from None
    except (StoreError, ManifestError) as error:
        raise SnapshotUnusable(str(error)) from None
    return Answer(feed.body, Lifetime(source.now, feed.next_flip or NEVER), feed.signals)


def _schema_answer(plan: SchemaPlan, source: Source) -> Answer:
    """The schema response (contract 2.3), with the APIs in scope only."""
    workspace = source.reader.workspace
    apis = [
        {
            "name": api.name,
            "endpoint": api.endpoint,
            "kind": api.kind,
            "fields": [_field_document(field) for field in api.fields],
        }
        for api in workspace.apis
        if in_scope(api, plan.scope)
    ]
    body = msgspec.json.encode({"workspace": workspace.id, "apis": apis})
    return Answer(body, Lifetime(), workspace_signals(workspace.id))


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


def _live_version(reader: Reader, plan: EntryPlan, now: int) -> Version | None:
    """The version the language rule chooses (contract 4.11)."""
    rows, visibility, entry_id = reader.rows(plan.api), plan.visibility, plan.entry_id
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


def _entries(returned: Sequence[Version], shape: Shape, documents: Documents) -> list[Pieces]:
    """Write versions as entries. Most are sent as they are stored."""
    if shape.fields is None and not shape.expansions and not shape.include_langs:
        return [(version.body,) for version in returned]
    return [_entry(version, shape, documents) for version in returned]


def _entry(version: Version, shape: Shape, documents: Documents) -> Pieces:
    values = expanded_values(version, shape.expansions, documents) if shape.expansions else {}
    pieces: Pieces = (version.body,)
    if shape.fields is not None:
        pieces = (with_fields(version.body, values, shape.fields),)
    elif values:
        pieces = with_values(version.body, values, spliced=shape.is_spliced)
    return pieces if version.langs is None else with_langs(pieces, version.langs)

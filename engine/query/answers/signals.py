"""An answer → the signals about it: until when it stays right, and the tags of what it was made from.

Both are for applications that keep answers of their own: the first for those that ask again in time, the second for
those that are told of changes, whose tags (``engine.changes.changes.tags``) are the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from engine.cache.entry_number import entry_number
from engine.query.answers.entries import Version
from engine.query.answers.references import Expanded
from engine.query.plan import VIEWS, EntryPlan, ListPlan, Shape
from engine.query.selection.bits import marks_of
from engine.query.selection.select import Selection
from engine.reader.reader import Reader
from engine.visibility import Visibility
from snapshots.model import NEVER, Api, ApiKind

LONGEST_TAGS: Final = 2_000
"""Characters of an answer's tags: servers between limit the headers of an answer to 4,000 bytes, and some names are
needed for others."""
SEPARATOR: Final = ", "


class Signals(msgspec.Struct, frozen=True):
    """The signals about an answer."""

    next_change: int | None = None
    """The first instant, UTC milliseconds, at which anything in the answer comes, goes or changes its language unless
    something is published before; ``None`` where none is known."""
    tags: tuple[str, ...] = ()
    """Every change of content that can make the answer another has one of these tags."""


NO_SIGNALS: Final = Signals()


def list_signals(
    reader: Reader,
    plan: ListPlan,
    selection: Selection,
    versions: Collection[Version],
    expanded: Expanded,
    now: int,
    deadline: float,
) -> Signals:
    """Return the signals about a list. One in the order of views may change at any time, so that no instant is known.
    Raises ``QueryTimeout``."""
    schedule = reader.schedule(plan.api, plan.visibility, deadline)
    first = schedule.next(now)
    if selection.matching is not None and first != NEVER:
        first = schedule.next_among(marks_of(selection.matching, reader.rows(plan.api).count), now)
    ids = [_id(version.body) for version in versions] if plan.shape.include_langs else []
    first = min(first, _next_around(reader, plan.api, plan.shape, ids, expanded, now, deadline))
    by_views = any(key.field == VIEWS for key in plan.orders)
    return Signals(None if by_views or first == NEVER else first, _tags(reader, plan.api, None, expanded))


def entry_signals(
    reader: Reader, plan: EntryPlan, version: Version, expanded: Expanded, now: int, deadline: float
) -> Signals:
    """Return the signals about one entry or item. What a preview shows itself has no schedule. Raises
    ``QueryTimeout``."""
    entry_id = _id(version.body)
    is_item = plan.api.kind is ApiKind.OBJECT
    first = NEVER
    if plan.draft_key is None:
        schedule = reader.schedule(plan.api, plan.visibility, deadline)
        # An item may have another ID in each language.
        first = schedule.next(now) if is_item else schedule.next_of([entry_number(entry_id)], now)
    ids = [entry_id] if plan.shape.include_langs else []
    first = min(first, _next_around(reader, plan.api, plan.shape, ids, expanded, now, deadline))
    return Signals(None if first == NEVER else first, _tags(reader, plan.api, None if is_item else entry_id, expanded))


def workspace_signals(workspace_id: str) -> Signals:
    """Return the signals about an answer that holds no entry, such as the schema."""
    return Signals(tags=(workspace_id,))


def feed_signals(workspace_id: str, endpoints: Collection[str], next_change: int | None) -> Signals:
    """Return the signals about a list of changes, to which any entry of these APIs may be added."""
    return Signals(next_change, _bounded(workspace_id, {endpoint: [] for endpoint in endpoints}, set(endpoints)))


def _next_around(
    reader: Reader, api: Api, shape: Shape, ids: Collection[str], expanded: Expanded, now: int, deadline: float
) -> int:
    """Return the first flip after ``now`` of what is delivered with entries: ``_langs`` of these ``ids``, and the
    entries they refer to."""
    first = NEVER
    if ids:
        numbers = list(map(entry_number, ids))
        for lang in reader.workspace.languages_of(api):
            first = min(first, reader.schedule(api, Visibility(lang), deadline).next_of(numbers, now))
    for uid, reached in expanded.reached.items():
        target = reader.workspace.api_by_uid(uid)
        if target is not None and reached:
            schedule = reader.schedule(target, shape.reach.visibility_in(target), deadline)
            first = min(first, schedule.next_of(reached, now))
    return first


def _tags(reader: Reader, api: Api, entry_id: str | None, expanded: Expanded) -> tuple[str, ...]:
    """Return the tags of an answer: the workspace, then the entry or for ``None`` the whole API, then those referred
    to. An API stands for its entries where one of them is not there yet, or where they are too many."""
    workspace = reader.workspace
    found: dict[str, list[str]] = {api.endpoint: [] if entry_id is None else [entry_id]}
    whole = {api.endpoint} if entry_id is None else set()
    for uid, reached in expanded.reached.items():
        target = workspace.api_by_uid(uid)
        if target is None or not reached:
            continue
        live = expanded.named.get(uid, {})
        if len(live) < len(reached):
            whole.add(target.endpoint)
        found.setdefault(target.endpoint, []).extend(_id(pieces[0]) for pieces in live.values())
    return _bounded(workspace.id, found, whole)


def _bounded(workspace_id: str, found: Mapping[str, Collection[str]], whole: set[str]) -> tuple[str, ...]:
    """Return tags of ``LONGEST_TAGS`` at most, with whole APIs for those with the most entries as far as needed."""
    names = {
        endpoint: [f"{workspace_id}:{endpoint}:{one}" for one in sorted(set(ids))] for endpoint, ids in found.items()
    }
    by_size = sorted(names, key=lambda endpoint: sum(map(len, names[endpoint])))
    while True:
        tags = [workspace_id]
        for endpoint, entries in names.items():
            tags += [f"{workspace_id}:{endpoint}"] if endpoint in whole else entries
        if len(SEPARATOR.join(tags)) <= LONGEST_TAGS:
            return tuple(tags)
        if not by_size:
            return (workspace_id,)
        whole.add(by_size.pop())


def _id(body: bytes) -> str:
    """Return the ID of an entry as JSON, of which it is the first member."""
    return body[7 : body.index(b'"', 7)].decode()

"""Signals about an answer: until when it stays right, and the tags of what it was made from.

Both are for applications that keep answers of their own: the first for those that ask again in time, the second for
those that are told of changes, whose tags (``engine.timeline.changes.tags``) are the same. Neither tells anything of
what is not published, but for the one instant at which something in an API as a whole next comes or goes (decision 67).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from engine.read.query.answers.entries import Version
from engine.read.query.answers.references import Expanded
from engine.read.query.plan import EntryPlan, ListPlan
from engine.read.reader.reader import Epoch, Reader
from snapshots.model import NEVER, Api, ApiKind, Workspace

LONGEST_TAGS: Final = 2_000
"""Characters of an answer's tags: servers between limit the headers of an answer to 4,000 bytes, and some names are
needed for others."""
SEPARATOR: Final = ", "


class Signals(msgspec.Struct, frozen=True):
    """The signals about an answer."""

    next_change: int | None = None
    """The first instant, UTC milliseconds, at which anything comes, goes or changes its language in one of the APIs
    that the answer is made from: it stays right until then, unless something is published before. ``None`` where none
    is known, or the workspace does not tell."""
    tags: tuple[str, ...] = ()
    """Every change of content that can make the answer another has one of these tags."""


NO_SIGNALS: Final = Signals()


def list_signals(reader: Reader, plan: ListPlan, expanded: Expanded, epoch: Epoch) -> Signals:
    """Return the signals about a list, whose APIs have ``epoch`` in common."""
    return Signals(_next_change(reader, plan, epoch), _tags(reader, plan.api, None, expanded))


def entry_signals(reader: Reader, plan: EntryPlan, version: Version, expanded: Expanded, epoch: Epoch) -> Signals:
    """Return the signals about one entry or item, whose APIs have ``epoch`` in common."""
    is_item = plan.api.kind is ApiKind.OBJECT  # which may have another ID in each language
    tags = _tags(reader, plan.api, None if is_item else _id(version.body), expanded)
    return Signals(_next_change(reader, plan, epoch), tags)


def views_signals(workspace_id: str, api: Api) -> Signals:
    """Return the signals about view counts of an API's entries, which may change at any time."""
    return Signals(tags=_bounded(workspace_id, {api.endpoint: []}, {api.endpoint}))


def workspace_signals(workspace_id: str) -> Signals:
    """Return the signals about an answer that holds no entry, such as the schema."""
    return Signals(tags=(workspace_id,))


def feed_signals(workspace: Workspace, endpoints: Collection[str], next_change: int | None) -> Signals:
    """Return the signals about a list of changes, to which any entry of these APIs may be added. ``next_change`` is the
    next flip of any of them, UTC milliseconds."""
    told = next_change if workspace.tells_next_change else None
    return Signals(told, _bounded(workspace.id, {endpoint: [] for endpoint in endpoints}, set(endpoints)))


def _next_change(reader: Reader, plan: ListPlan | EntryPlan, epoch: Epoch) -> int | None:
    """Return the next flip of anything in the APIs that answers of this kind are made from, whatever is asked for in
    them: were it the next of what meets a condition, conditions would tell what is scheduled. A list in the order of
    views may change at any time."""
    if plan.is_by_views or not reader.workspace.tells_next_change:
        return None
    return None if epoch.until == NEVER else epoch.until


def _tags(reader: Reader, api: Api, entry_id: str | None, expanded: Expanded) -> tuple[str, ...]:
    """Return the tags of an answer: the workspace, then the entry or for ``None`` the whole API, then those referred
    to. An API stands for its entries where one of them is not there yet, or where they are too many."""
    workspace = reader.workspace
    if not expanded.reached:
        own = f"{workspace.id}:{api.endpoint}"
        return workspace.id, own if entry_id is None else f"{own}:{entry_id}"
    found: dict[str, list[str]] = {api.endpoint: [] if entry_id is None else [entry_id]}
    whole = {api.endpoint} if entry_id is None else set()
    for uid, reached in expanded.reached.items():
        if not reached:
            continue
        target = reader.api(uid)
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
    by_size: list[str] | None = None
    while True:
        tags = [workspace_id]
        for endpoint, entries in names.items():
            tags += [f"{workspace_id}:{endpoint}"] if endpoint in whole else entries
        if len(SEPARATOR.join(tags)) <= LONGEST_TAGS:
            return tuple(tags)
        if by_size is None:
            by_size = sorted(names, key=lambda endpoint: sum(map(len, names[endpoint])))
        if not by_size:
            return (workspace_id,)
        whole.add(by_size.pop())


def _id(body: bytes) -> str:
    """Return the ID of an entry as JSON, of which it is the first member."""
    return body[7 : body.index(b'"', 7)].decode()

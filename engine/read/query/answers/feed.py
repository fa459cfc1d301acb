"""Answer ``_changes``: tell what changed since a point, a page at a time, and where to go on.

``since`` is a point, or goes on inside a list of changes that is longer than a page: it then names both ends of the
list and the number of changes told already, so that the list stays the same whatever is published meanwhile.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from engine.read.query.answers.signals import Signals, feed_signals
from engine.read.query.invalid_query import InvalidQuery, shown
from engine.read.query.parameters import MAX_OFFSET, Parameters
from engine.read.reader.reach import Scope, in_scope
from engine.timeline.changes import changes
from engine.timeline.compared_files import ComparedFiles
from engine.timeline.points import Point, PointGone, parse_point
from snapshots.store.current import Current
from snapshots.store.store import WorkspaceStore
from snapshots.times import format_datetime

MAX_CHANGES: Final = 1000
DEFAULT_CHANGES: Final = 100
_INSIDE: Final = re.compile(r"(?P<before>[^~]*)~(?P<after>[^~]*)~(?P<told>[1-9][0-9]{0,15})")


class FeedQuery(msgspec.Struct, frozen=True):
    """The parameters of a request for changes."""

    since: Point | None = None
    """Where the changes begin; ``None`` for a client that begins now."""
    until: Point | None = None
    """Where they end, in the midst of a list; ``None`` for the present."""
    told: int = 0
    """How many of them the client has already."""
    limit: int = DEFAULT_CHANGES

    @property
    def points(self) -> list[Point]:
        """The points that the client names."""
        return [point for point in (self.since, self.until) if point is not None]


def parse_feed_query(raw: bytes, *, strict: bool = False) -> FeedQuery:
    """Return the ``FeedQuery`` of a query string as sent. Raises ``InvalidQuery``; other parameters are ignored, with
    ``strict`` known ones only."""
    given = Parameters(raw, strict=strict)
    limit = given.integer("limit", 1, MAX_CHANGES, DEFAULT_CHANGES)
    text = given.text("since")
    if text is None:
        return FeedQuery(limit=limit)
    inside = _INSIDE.fullmatch(text)
    try:
        if inside is None:
            return FeedQuery(parse_point(text), limit=limit)
        told = int(inside["told"])
        if told <= MAX_OFFSET:
            return FeedQuery(parse_point(inside["before"]), parse_point(inside["after"]), told, limit)
    except ValueError as error:
        raise InvalidQuery(f"since: {error}, or what `next` of an answer gave; got {shown(text)}.") from None
    raise InvalidQuery(f"since: expected what `next` of an answer gave, got {shown(text)}.")


class Feed(msgspec.Struct, frozen=True):
    """The answer to a request for changes."""

    body: bytes
    """JSON."""
    signals: Signals
    next_flip: int | None
    """The instant from which other changes may follow on the same point, UTC milliseconds; ``None`` for none."""


def feed_answer(
    workspace_store: WorkspaceStore,
    present: Point,
    query: FeedQuery,
    scope: Scope,
    history: Current | None,
    kept: ComparedFiles | None = None,
) -> Feed:
    """Return ``{changes, next, nextChange, previous}`` (design-events) as of ``present``, for a key with this scope.

    ``history`` has when versions were current: a point after that stands for the last instant of it, so that nothing
    is told that was never visible. Raises ``PointGone`` for one before, ``InvalidQuery`` for the future, and as
    ``changes`` does.
    """
    for point in query.points:
        if point.at > present.at:
            raise InvalidQuery(f"since: {format_datetime(point.at)} is in the future. Send what `next` gave.")
    since, until = (None if point is None else _shown(point, history) for point in (query.since, query.until))
    after = until or present
    found = changes(workspace_store, since or after, after, scope=scope, kept=kept)
    workspace = workspace_store.manifest(after.version).workspace
    endpoints = [api.endpoint for api in workspace.apis if in_scope(api, scope)]
    signals = feed_signals(workspace, endpoints, found.next_change)
    told = query.told + query.limit
    is_last = told >= found.total
    document = {
        "changes": list(found.entries(query.told, told)),
        "next": str(after) if is_last else f"{found.before}~{found.after}~{told}",
        "nextChange": None if signals.next_change is None else format_datetime(signals.next_change),
        "previous": None if history is None else history.before(present.version),
    }
    return Feed(msgspec.json.encode(document), signals, found.next_change)


def _shown(point: Point, history: Current | None) -> Point:
    at = None if history is None else history.shown(point.version, point.at)
    if at is None:
        raise PointGone(point, without="since")
    return Point(point.version, at)

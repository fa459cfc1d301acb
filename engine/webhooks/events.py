"""Write the events that tell a step of an endpoint, each as the document that receivers get.

An event is thin: it says what changed, not what it says now, and stays below ``LONGEST_BODY``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from engine.timeline.changes import Changes, EntryChange, tags
from engine.timeline.points import Point
from engine.webhooks.endpoint import Endpoint, Reason
from engine.webhooks.key_events import KeyEvent
from snapshots.compare.compatibility import SchemaChange, change_document
from snapshots.model import Workspace
from snapshots.times import format_datetime

LONGEST_BODY: Final = 20_000
"""Bytes of an event's document, less than which it has."""
_SMALLEST_CHANGE: Final = 50
"""Bytes that a change takes in a document at least."""
_SETTING: Final = "setting_changed"
"""A change of the definitions that clients of the API do not see."""

CONTENT_CHANGED: Final = "content.changed"
SCHEMA_CHANGED: Final = "schema.changed"
TEST: Final = "webhook.test"

_encode: Final = msgspec.json.Encoder().encode


class News(msgspec.Struct, frozen=True):
    """The news of one step, from ``before`` to ``after``, for an endpoint."""

    workspace: Workspace
    before: Point | None
    after: Point
    at: int
    """The instant at which it came into force, UTC milliseconds."""
    keys: tuple[KeyEvent, ...]
    changes: Changes | None
    """``None`` where the version before is not there any more: anything may have changed."""
    next_change: int | None
    """UTC milliseconds."""
    is_return: bool
    """Whether the version of ``after`` was current earlier than that of ``before``."""

    @property
    def reason(self) -> Reason:
        if self.before is not None and self.before.version == self.after.version:
            return Reason.FLIP
        return Reason.ROLLBACK if self.is_return else Reason.ACTIVATION

    @property
    def has_content(self) -> bool:
        """Whether any entry that the endpoint is told of differs, or may."""
        return self.changes is None or self.changes.total > 0

    @property
    def schema(self) -> list[SchemaChange]:
        """The changes of the definitions, those of settings left out."""
        found = () if self.changes is None else self.changes.schema
        return [change for change in found if change.change != _SETTING]

    @property
    def apis(self) -> list[str]:
        """The endpoints of APIs of which an entry differs."""
        return list(dict.fromkeys(file.api for file in self.changes.files)) if self.changes else []


class Event(msgspec.Struct, frozen=True):
    """One event as it is sent."""

    type: str
    message: str
    """The ``webhook-id``: the same however often, and by whichever process, the event is sent."""
    body: bytes


def events(news: News, endpoint: Endpoint) -> Iterator[Event]:
    """Return the events that tell a step to an endpoint, in the order in which they are sent."""
    if endpoint.reasons is None:
        for event in news.keys:
            yield _event(news, endpoint, event.type, event.at, _key_document(event), event.key.id)
        if news.schema:
            yield _event(news, endpoint, SCHEMA_CHANGED, news.at, _schema_document(news))
    if news.has_content and (endpoint.reasons is None or news.reason in endpoint.reasons):
        yield _event(news, endpoint, CONTENT_CHANGED, news.at, _content_document(news))


def trial_event(endpoint: Endpoint, workspace_id: str, now: int, message: str) -> Event:
    """Return the event by which people try whether an endpoint is reached."""
    document = {"endpoint": endpoint.id, "at": format_datetime(now)}
    return Event(TEST, message, _body(TEST, now, workspace_id, document))


def content_body(news: News) -> bytes:
    """Return the document of the event by which a change of content is told."""
    return _body(CONTENT_CHANGED, news.at, news.workspace.id, _content_document(news))


def _event(news: News, endpoint: Endpoint, kind: str, at: int, document: dict[str, Any], more: str = "") -> Event:
    said = "\n".join((endpoint.id, str(news.before), str(news.after), kind, more))
    message = f"msg_{hashlib.sha256(said.encode()).hexdigest()[:32]}"
    return Event(kind, message, _body(kind, at, news.workspace.id, document))


def _body(kind: str, at: int, workspace_id: str, document: dict[str, Any]) -> bytes:
    envelope = {"type": kind, "timestamp": format_datetime(at), "workspace": workspace_id, "data": document}
    return _encode(envelope)


def _key_document(event: KeyEvent) -> dict[str, Any]:
    key = event.key
    return {
        "id": key.id,
        "prefix": key.prefix,
        "name": key.name,
        "until": None if key.period.end is None else key.period.end.isoformat(),
    }


def _schema_document(news: News) -> dict[str, Any]:
    changes = [change_document(change) for change in news.schema]

    def document(count: int) -> dict[str, Any]:
        common = {**_common(news), "changes": changes[:count], "tags": [news.workspace.id]}
        return _with_total(common, count, len(changes))

    return _longest(document, len(changes))


def _content_document(news: News) -> dict[str, Any]:
    common, next_change = _common(news), None if news.next_change is None else format_datetime(news.next_change)
    workspace = news.workspace.id
    if news.changes is None:
        return {
            **common,
            "changes": [],
            "tags": [workspace],
            "nextChange": next_change,
            "truncated": True,
            "total": None,
        }
    total = news.changes.total
    listed = list(news.changes.entries(0, LONGEST_BODY // _SMALLEST_CHANGE))

    def document(count: int) -> dict[str, Any]:
        shown = listed[:count]
        return _with_total(
            {
                **common,
                "changes": [_change_document(one) for one in shown],
                # All answers carry the workspace's own tag, also those of entries that are not listed.
                "tags": [workspace] if count < total else list(tags(workspace, shown)),
                "nextChange": next_change,
            },
            count,
            total,
        )

    return _longest(document, len(listed))


def _change_document(change: EntryChange) -> dict[str, str]:
    return {"api": change.api, "id": change.id, "lang": change.lang, "change": str(change.change)}


def _common(news: News) -> dict[str, Any]:
    return {"reason": str(news.reason), "snapshot": str(news.after), "at": format_datetime(news.at)}


def _with_total(document: dict[str, Any], count: int, total: int) -> dict[str, Any]:
    return document if count == total else {**document, "truncated": True, "total": total}


def _longest(document: Any, count: int) -> dict[str, Any]:
    """Return the document with as many of ``count`` changes as fit."""
    room = LONGEST_BODY - 500  # for the envelope
    low, high = 0, count
    while low < high:
        middle = (low + high + 1) // 2
        if len(_encode(document(middle))) < room:
            low = middle
        else:
            high = middle - 1
    found: dict[str, Any] = document(low)
    return found

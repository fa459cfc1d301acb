"""Deliver to the endpoints of a workspace, to each in order and at least once, every state that was served.

What there is to tell is computed, not kept: an endpoint's ledger is its cursor, the point until which it has been told
all, and the tries of the one step after it. Whatever happened meanwhile, the difference between the cursor and now is
what it has to hear.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

import msgspec
from msgspec.structs import replace

from engine.access.keys.keys import Key
from engine.timeline.changes import Changes, changes
from engine.timeline.compared_files import ComparedFiles
from engine.timeline.flips import Flips
from engine.timeline.points import Point
from engine.timeline.timeline import Timeline
from engine.webhooks.addresses import parse_target
from engine.webhooks.endpoint import KEPT_ATTEMPTS, Attempt, Endpoint, EndpointState, Pending, Stop
from engine.webhooks.events import News, events
from engine.webhooks.formats import FORMATS, NOTHING, Message, Messages
from engine.webhooks.key_events import KeyEvent, key_events
from engine.webhooks.post import Post, PostResult, unforeseen
from engine.webhooks.schedule import next_try
from engine.webhooks.webhooks_file import Endpoints, WebhooksFile
from snapshots.model import Workspace
from snapshots.problems import ParquetryError
from snapshots.store.store import MissingVersion, WorkspaceStore

GONE: Final = 410
PROGRESS_EVERY: Final = 100
"""Requests of one step after which it is noted how many were accepted."""

_log: Final = logging.getLogger("parquetry")
LONGEST_TURN_MS: Final = 60_000
"""Milliseconds after which a step of many requests is broken off, so that other endpoints are told meanwhile."""

Send: TypeAlias = Callable[[Post, int], PostResult]
"""Makes a request at an instant (UTC ms) and returns its answer, which may take ``post.SECONDS``."""
Change: TypeAlias = Callable[[Endpoint], Endpoint]


class ActiveVersion(msgspec.Struct, frozen=True):
    """The version that every reader answers from."""

    version: str
    activated_at: int
    """The instant at which it became current, UTC milliseconds."""


class WebhookDelivery(msgspec.Struct, frozen=True):
    """The outcome of one try, for the log and the metrics."""

    endpoint: Endpoint
    """The endpoint after the try."""
    subjects: tuple[str, ...]
    requests: int
    """The number of requests that were accepted."""
    result: PostResult
    """The result of the last request."""


class Dispatcher:
    """Delivers to the endpoints of one workspace. Threads may share it; one try of an endpoint at a time."""

    def __init__(
        self,
        workspace_store: WorkspaceStore,
        file: WebhooksFile,
        keys: Callable[[], tuple[Key, ...]],
        kept: ComparedFiles,
        *,
        clock: Callable[[], int],
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._workspace_store = workspace_store
        self._file = file
        self._keys = keys
        self._kept = kept
        self._clock = clock
        self._chance = chance
        self._flips: tuple[str, Flips] | None = None
        self._known_keys: tuple[tuple[Key, ...], str, list[KeyEvent]] | None = None
        self._workspaces: dict[str, Workspace] = {}
        self._unwritten: dict[str, Change] = {}
        """Outcomes of tries, by endpoint, that the disk or the store refused: written before the next try."""

    def due_at(self, endpoint: Endpoint, served: ActiveVersion, now: int) -> int | None:
        """Return the instant at which there may be something to tell an endpoint, which is ``now`` where there is by
        now (both UTC milliseconds).

        ``None``: nothing until another version is served or somebody changes a webhook or a key. Raises ``StoreError``
        or another ``ParquetryError`` where that cannot be read.
        """
        if endpoint.stopped is not None:
            return None
        if endpoint.id in self._unwritten:
            return now
        if endpoint.pending is not None:
            return endpoint.pending.next_at
        cursor = endpoint.cursor
        if cursor is None or _precedes(cursor, served, now):
            return now
        coming = [event.at for event in self._key_events(served.version) if event.at > cursor.at]
        flip = self._flips_of(served.version).next(cursor.at)
        return min(coming if flip is None else [*coming, flip], default=None)

    def deliver(self, endpoint: Endpoint, served: ActiveVersion, send: Send) -> WebhookDelivery | None:
        """Make the next try of an endpoint that is due; ``None`` where there is nothing to tell it after all, or where
        it has so many requests that others have their turn before the rest, which is due at once.

        Raises ``StoreError`` or another ``ParquetryError`` where a version or the ledger cannot be read or written;
        what was accepted is then not sent again by this process.
        """
        unwritten = self._unwritten.get(endpoint.id)
        if unwritten is not None:
            self._change(endpoint.id, unwritten)
            return None
        if endpoint.pending is not None and not self._workspace_store.has(endpoint.pending.after.version):
            # It was pruned. Whether the endpoint has heard of it is not known, nor to what the difference would be.
            self._change(endpoint.id, lambda one: _retargeted(one, endpoint, Point(served.version, self._clock())))
            return None
        after = endpoint.pending.after if endpoint.pending is not None else self._next_point(endpoint, served)
        if after is None:
            return None
        requests = self._messages(endpoint, after)
        if not requests.count:
            self._change(endpoint.id, lambda one: _moved(one, endpoint, after))
            return None
        if endpoint.pending is None:
            begun = Pending(after, self._clock(), next_at=self._clock())
            changed = self._change(endpoint.id, lambda one: _begun(one, endpoint, begun))
            if changed is None or changed.pending is None or changed.pending.after != after:
                return None  # somebody changed it meanwhile
            endpoint = changed
        return self._try(endpoint, endpoint.pending or begun, requests, send)

    def _try(self, endpoint: Endpoint, pending: Pending, requests: Messages, send: Send) -> WebhookDelivery | None:
        """Make the requests of a step until one is not accepted; ``None`` where that takes longer than a turn."""
        began = self._clock()
        before = pending.accepted if pending.accepted < requests.count else 0
        accepted, result = before, PostResult(None)
        while accepted < requests.count:
            now = self._clock()
            result = self._post(endpoint, requests, accepted, now, send)
            if not result.accepted:
                break
            accepted += 1
            if accepted == requests.count:
                break
            if self._clock() - began >= LONGEST_TURN_MS:
                self._unwritten[endpoint.id] = _progressed(pending, accepted)
                self._change(endpoint.id, self._unwritten[endpoint.id])
                return None
            if accepted % PROGRESS_EVERY == 0:
                with suppress(ParquetryError):  # it only spares repetitions after a crash
                    self._change(endpoint.id, _progressed(pending, accepted))
        ended = self._clock()
        attempt = Attempt(
            at=ended,
            before=endpoint.cursor,
            after=pending.after,
            requests=accepted - before,
            status=result.status,
            refusal=result.refusal,
            took=max(0, ended - began),
        )
        outcome = _outcome(pending, accepted, attempt, result, self._chance())
        self._unwritten[endpoint.id] = outcome
        changed = self._change(endpoint.id, outcome)
        return WebhookDelivery(changed or outcome(endpoint), requests.subjects, accepted - before, result)

    def _messages(self, endpoint: Endpoint, after: Point) -> Messages:
        """Return the messages about the step to ``after``; after an unforeseen error, one message that fails with
        it."""
        form = FORMATS[endpoint.format]
        try:
            news = self._news(endpoint, after)
            found = list(events(news, endpoint)) if form.tells_keys or news.has_content or news.schema else []
            return form.messages(news, found, endpoint) if found else NOTHING
        except (ParquetryError, OSError):
            raise
        except Exception as error:
            return _failing(error)

    def _post(self, endpoint: Endpoint, requests: Messages, number: int, now: int, send: Send) -> PostResult:
        """Make one request. An unforeseen error counts as a failed try, so that a request that always fails is given
        up."""
        # The address is judged when it is connected to.
        target = parse_target(endpoint.url, allow_loopback=True)
        try:
            return send(Post(target, *requests.message(number, now)), now)
        except (ParquetryError, OSError, CancelledError):  # of the store or the disk; or the server ends
            raise
        except Exception as error:
            _log.exception("webhook %s: a request failed unexpectedly", endpoint.id)
            return unforeseen(error)

    def _next_point(self, endpoint: Endpoint, served: ActiveVersion) -> Point | None:
        """Return the end of the next step: the version served as it became current, or else its last flip."""
        now, cursor = self._clock(), endpoint.cursor
        if cursor is None or _precedes(cursor, served, now):
            # Never before what was told: a flip of the version before may have been, after the activation by the clock
            # of another machine, or before this process noticed it. Told as of then, it would be taken back.
            activated = min(served.activated_at, now)
            return Point(served.version, activated if cursor is None else max(cursor.at, activated))
        past = [event.at for event in self._key_events(served.version) if cursor.at < event.at <= now]
        flip = self._flips_of(served.version).last(cursor.at, now)
        at = max(past if flip is None else [*past, flip], default=None)
        return None if at is None else Point(served.version, at)

    def _news(self, endpoint: Endpoint, after: Point) -> News:
        before = endpoint.cursor
        workspace = self._workspace(after.version)
        flips = self._flips_of(after.version)
        key_news = tuple(
            event for event in self._key_events(after.version) if before and before.at < event.at <= after.at
        )
        # A step that ends with an event of a key may hold an earlier flip.
        flip = flips.last(before.at, after.at) if before and key_news and before.version == after.version else None
        found = self._changes(endpoint, before, after)
        next_change = flips.next(after.at) if found is None else found.next_change
        is_return = False
        if before is not None and before.version != after.version:
            current = self._workspace_store.current()
            is_return = current is not None and current.is_return(before.version, after.version)
        return News(workspace, before, after, flip or after.at, key_news, found, next_change, is_return)

    def _changes(self, endpoint: Endpoint, before: Point | None, after: Point) -> Changes | None:
        if before is None:
            return None
        try:
            return changes(
                self._workspace_store, before, after, scope=endpoint.apis, languages=endpoint.langs, kept=self._kept
            )
        except MissingVersion:
            if not self._workspace_store.has(after.version):
                raise
            return None

    def _workspace(self, version: str) -> Workspace:
        if version not in self._workspaces:
            self._workspaces = {
                **dict(list(self._workspaces.items())[-3:]),
                version: self._workspace_store.manifest(version).workspace,
            }
        return self._workspaces[version]

    def _flips_of(self, version: str) -> Flips:
        known = self._flips
        if known is None or known[0] != version:
            known = self._flips = (
                version,
                Timeline(self._workspace_store, self._workspace_store.manifest(version)).flips,
            )
        return known[1]

    def _key_events(self, version: str) -> list[KeyEvent]:
        keys, zone = self._keys(), self._workspace(version).timezone
        known = self._known_keys
        if known is None or known[0] is not keys or known[1] != zone:
            known = self._known_keys = (keys, zone, key_events(keys, ZoneInfo(zone)))
        return known[2]

    def _change(self, endpoint_id: str, change: Change) -> Endpoint | None:
        """Change an endpoint in the file and return it; ``None`` where it was deleted meanwhile."""

        def changed(endpoints: Endpoints) -> tuple[Endpoints, Endpoint | None]:
            after = tuple(change(one) if one.id == endpoint_id else one for one in endpoints)
            return after, next((one for one in after if one.id == endpoint_id), None)

        after = self._file.edit(changed)
        self._unwritten.pop(endpoint_id, None)
        return after


def _failing(error: Exception) -> Messages:
    def fail(_number: int, _now: int) -> Message:
        raise error

    return Messages(1, (), fail)


def _precedes(cursor: Point, served: ActiveVersion, now: int) -> bool:
    """Return whether an endpoint at ``cursor`` has yet to be told that ``served`` became current; a version that became
    current again counts again."""
    return cursor.version != served.version or cursor.at < served.activated_at <= now


def _begun(current: Endpoint, known: Endpoint, pending: Pending) -> Endpoint:
    is_same = current.cursor == known.cursor and current.pending is None and current.stopped is None
    return replace(current, pending=pending) if is_same else current


def _moved(current: Endpoint, known: Endpoint, after: Point) -> Endpoint:
    """Return the endpoint as it is when a step has been told, or holds nothing for it."""
    is_same = (current.cursor, current.pending) == (known.cursor, known.pending)
    return replace(current, cursor=after, pending=None) if is_same else current


def _retargeted(current: Endpoint, known: Endpoint, after: Point) -> Endpoint:
    """Return the endpoint as one that is told ``after`` instead of its pending step, and that all may have changed."""
    if current.pending is None or current.pending != known.pending:
        return current
    return replace(current, cursor=None, pending=replace(current.pending, after=after, accepted=0))


def _progressed(pending: Pending, accepted: int) -> Change:
    def change(current: Endpoint) -> Endpoint:
        now = current.pending
        if now is None or now.after != pending.after:
            return current
        return replace(current, pending=replace(now, accepted=accepted))

    return change


def _outcome(pending: Pending, accepted: int, attempt: Attempt, result: PostResult, chance: float) -> Change:
    """Return the change that a try makes to its endpoint, unless that is at another step by then."""

    def change(current: Endpoint) -> Endpoint:
        now = current.pending
        if now is None or (now.after, current.cursor) != (pending.after, attempt.before):
            return current
        current = replace(current, attempts=(attempt, *current.attempts)[:KEPT_ATTEMPTS])
        if result.accepted:
            return replace(current, cursor=pending.after, pending=None)
        failures = pending.failures + 1
        at = next_try(failures, attempt.at, result.retry_after, chance)
        current = replace(current, pending=replace(now, failures=failures, accepted=accepted, next_at=at or attempt.at))
        if current.stopped is not None:
            return current
        if result.status == GONE:
            return replace(current, stopped=Stop(EndpointState.GONE, attempt.at))
        if at is None:
            return replace(current, stopped=Stop(EndpointState.GIVEN_UP, attempt.at, told=False))
        return current

    return change

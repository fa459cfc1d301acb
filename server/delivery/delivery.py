"""The read endpoints of ``/v1`` (contract 4, decision 1), each request one sequence of calls:

authorize → limit → (kept?) → parse → bind → select → read → expand → respond.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from engine.access.keys.keys import Key
from engine.read.files.unusable import SnapshotUnusable
from engine.read.query.answers.answer import NotFound, entry_answer, list_answer, schema_document
from engine.read.query.answers.answer_cache import Answer, Lifetime, content_lifetime, views_lifetime
from engine.read.query.answers.answer_cache import Key as AnswerKey
from engine.read.query.answers.effort import Effort, effort
from engine.read.query.answers.feed import feed_answer, parse_feed_query
from engine.read.query.answers.signals import views_signals
from engine.read.query.answers.view_counts import answer_views
from engine.read.query.parameters import parse_entry_query, parse_list_query
from engine.read.query.plan import bind_entry, bind_list, in_scope
from engine.read.reader.reader import Reader
from engine.timeline.compared_files import ComparedFiles
from engine.timeline.points import Point, PointGone
from engine.views.counting.counts import Counts
from server.delivery.answer_cache import KnownRequests, identity_of, read_headers, send_representation
from server.delivery.answer_making import AnswerMaking, Wanted, Work
from server.delivery.pinning import Pinning
from server.http.access_log import logged_workspace
from server.http.exchange import exchange_of
from server.http.headers import PREFLIGHT
from server.keys.admission import Admission
from server.views.collection import ViewCollection
from server.workspaces.open_snapshot import OpenSnapshot
from server.workspaces.workspaces import Workspaces
from snapshots.model import NEVER, Api, ApiKind
from snapshots.store.durable import StoreError
from snapshots.store.manifest import ManifestError
from snapshots.store.store import MissingVersion


class Asked(NamedTuple):
    """An admitted request for which no answer is kept."""

    reader: Reader
    key: Key
    endpoint: str
    entry_id: str | None
    query: bytes
    """The query string as sent."""
    draft_key: bytes | None
    """The header ``X-Draft-Key`` as sent."""
    draft_secret: bytes
    now: int
    """The instant at which content is read, UTC milliseconds."""
    sent_at: int
    """The instant of the request, which is another one where it is pinned."""
    counts: Counts


class Delivery:
    """Answers from the snapshots that are current, to keys that may read them."""

    def __init__(
        self,
        workspaces: Workspaces,
        admission: Admission,
        views: ViewCollection,
        making: AnswerMaking,
        known: KnownRequests,
        pinning: Pinning,
        clock: Callable[[], int],
    ) -> None:
        self._workspaces = workspaces
        self._admission = admission
        self._views = views
        self._making = making
        self._known = known
        self._pinning = pinning
        self._clock = clock
        self._compared = ComparedFiles()

    async def contents(self, request: Request) -> ASGIApp:
        """Answer ``/v1/{workspace}/{endpoint}``: the list, or the item of an object API."""
        return await self._answer(request, _list_or_item)

    async def entry(self, request: Request) -> ASGIApp:
        """Answer ``/v1/{workspace}/{endpoint}/{entryId}``: one entry of a list API."""
        return await self._answer(request, _entry)

    async def schema(self, request: Request) -> ASGIApp:
        """Answer ``/v1/{workspace}/_schema``: the APIs the key may read, and their fields."""
        return await self._answer(request, _schema)

    async def views(self, request: Request) -> ASGIApp:
        """Answer ``/v1/{workspace}/_views/{endpoint}``: how often entries of an API were viewed."""
        return await self._answer(request, _views)

    async def changes(self, request: Request) -> ASGIApp:
        """Answer ``/v1/{workspace}/_changes``: what became visible otherwise since a point the client names."""
        return await self._answer(request, self._changes)

    def _changes(self, asked: Asked) -> Work:
        """Parse a request for changes."""
        served = self._workspaces.of(asked.reader.workspace.id)
        query = parse_feed_query(asked.query)
        present = Point(asked.reader.version, asked.now)

        def make() -> Answer:
            try:
                history = served.snapshots.history
                document = feed_answer(served.place, present, query, asked.key.scope, history, self._compared)
            except MissingVersion:
                named = (point for point in query.points if not served.place.has(point.version))
                raise PointGone(next(named, present), without="since") from None
            except (StoreError, ManifestError) as error:
                raise SnapshotUnusable(str(error)) from None
            # Until the next flip the same list follows, so that a token of an earlier instant is as good.
            lifetime = Lifetime(asked.now, document.next_flip or NEVER)
            return Answer(document.body, lifetime, document.signals)

        return Work(Effort.LONG, make)

    async def preflight(self, _request: Request) -> Response:
        """Answer OPTIONS."""
        return Response(status_code=204, headers=PREFLIGHT)

    async def _read_from(
        self, served: OpenSnapshot, workspace: str, pinned: bytes | None, now: int
    ) -> tuple[OpenSnapshot, int]:
        """Return the snapshot that a request reads, to be released after it, and the instant that it reads: of
        ``served`` now, or what ``X-Snapshot`` says. Raises as ``Pinning`` does."""
        if pinned is None:
            served.acquire()
            return served, now
        point = await self._pinning.point(pinned)
        return await self._pinning.lease(workspace, point)

    async def _answer(self, request: Request, bound: Callable[[Asked], Work]) -> ASGIApp:
        """Answer from the snapshot that is current now, at one instant ``now`` (decision 22), or from the one that the
        request is pinned to. ``bound`` parses and binds the request; its work selects, reads and expands."""
        now = self._clock()
        scope, path = request.scope, request.path_params
        headers = read_headers(scope)
        workspace, draft_key, pinned = path["workspace"], headers.get(b"x-draft-key"), headers.get(b"x-snapshot")
        exchange = exchange_of(scope)
        exchange.workspace = logged_workspace(workspace)
        keyring = self._workspaces.keyring
        key = self._workspaces.authorize(headers.get(b"x-api-key"), workspace, now)
        with self._workspaces.lease(workspace) as served:
            await self._admission.admit(exchange, workspace, key, served, now)
            snapshot, at = await self._read_from(served, workspace, pinned, now)
        exchange.snapshot, exchange.snapshot_at = snapshot.reader.version, at
        with snapshot:
            query = scope["query_string"]
            counts = self._views.counts(workspace)
            kept_by = None
            if draft_key is None:  # the keys of cached answers do not tell it
                pinned_at = None if pinned is None else at
                kept_by = AnswerKey(scope["raw_path"], query, snapshot.number, key.scope, pinned_at)
            accepted = headers.get(b"accept-encoding")
            wanted = Wanted(snapshot, kept_by, query, accepted, at, counts.entry_totals.generation)
            kept = answer = self._making.kept(wanted)
            if answer is None:
                secret = self._workspaces.draft_secret(workspace)
                endpoint, entry_id = path.get("endpoint", ""), path.get("entryId")
                asked = Asked(snapshot.reader, key, endpoint, entry_id, query, draft_key, secret, at, now, counts)
                answer = await self._making.made(wanted, bound(asked))
            representation = await self._making.represented(wanted, answer)
        if kept is not None and kept_by is not None and pinned is None:
            identity = identity_of(scope, headers)
            self._known.remember(identity, workspace, key, keyring, kept_by, answer, now)

        async def respond(_scope: Scope, _receive: Receive, send: Send) -> None:
            await send_representation(representation, headers.get(b"if-none-match"), send)

        return respond


def _list_or_item(asked: Asked) -> Work:
    """Parse and bind a request for a list, or for the item of an object API."""
    reader, now, api = asked.reader, asked.now, _api(asked)
    if api.kind is ApiKind.OBJECT:
        return _single(asked, api, None)
    query = parse_list_query(asked.query)
    plan = bind_list(query, api, reader.workspace, asked.key.scope)
    totals = asked.counts.entry_totals

    def make() -> Answer:
        document = list_answer(reader, plan, now, totals)
        return Answer(document.body, content_lifetime(reader, plan, now, totals.generation), document.signals)

    return Work(effort(reader, plan, now, totals), make)


def _entry(asked: Asked) -> Work:
    """Parse and bind a request for one entry."""
    api = _api(asked)
    if api.kind is ApiKind.OBJECT:
        raise NotFound(f'"{api.endpoint}" is an object API: it has no entries. Leave the ID off the path.')
    return _single(asked, api, asked.entry_id)


def _single(asked: Asked, api: Api, entry_id: str | None) -> Work:
    reader, now, secret = asked.reader, asked.now, asked.draft_secret
    query = parse_entry_query(asked.query, asked.draft_key)
    plan = bind_entry(query, api, reader.workspace, asked.key.scope)

    def make() -> Answer:
        document = entry_answer(reader, plan, entry_id, now, secret)
        return Answer(document.body, content_lifetime(reader, plan, now, 0), document.signals)

    return Work(effort(reader, plan, now, asked.counts.entry_totals), make)


def _schema(asked: Asked) -> Work:
    """Bind a request for the schema, which takes no parameters."""

    def make() -> Answer:
        document = schema_document(asked.reader, asked.key.scope)
        return Answer(document.body, Lifetime(), document.signals)

    return Work(Effort.SHORT, make)


def _views(asked: Asked) -> Work:
    """Bind a request for view counts, whose parameters are parsed with its work. Counts are always the present ones."""
    reader, api = asked.reader, _api(asked)

    def make() -> Answer:
        body = answer_views(reader, api, asked.query, asked.now, asked.sent_at, asked.counts)
        lifetime = None
        if asked.now == asked.sent_at:  # counts go on where content is pinned, so that the answer has no span
            lifetime = views_lifetime(reader, api, asked.now, asked.counts.entry_totals.generation)
        return Answer(body, lifetime, views_signals(reader.workspace.id, api))

    return Work(Effort.SHORT, make)


def _api(asked: Asked) -> Api:
    """Return the API at an endpoint. Raises ``NotFound``, the same for one that is not there and one the key may not
    read, so that a key tells nothing of what lies outside its scope."""
    api = asked.reader.manifest.workspace.api(asked.endpoint)
    if api is None or not in_scope(api, asked.key.scope):
        raise NotFound("There is no such API in this workspace, or this API key may not read it.")
    return api

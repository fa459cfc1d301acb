"""The read endpoints of ``/v1`` (contract 4, decision 1), each request one sequence of calls:

authorize → limit → (kept?) → parse → bind → select → read → expand → respond.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from engine.keys.keys import Key
from engine.page_views.counting.counts import Counts
from engine.query.answers.answer import NotFound, entry_answer, list_answer, schema_document
from engine.query.answers.answer_cache import Answer, Lifetime, content_lifetime, views_lifetime
from engine.query.answers.answer_cache import Key as AnswerKey
from engine.query.answers.effort import Effort, effort
from engine.query.answers.view_counts import answer_views
from engine.query.parameters import parse_entry_query, parse_list_query
from engine.query.plan import bind_entry, bind_list, in_scope
from engine.reader.reader import Reader
from server.content.answer_cache import KnownRequests, identity_of, read_headers, send_representation
from server.content.answer_making import AnswerMaking, Wanted, Work
from server.http.exchange import exchange_of
from server.http.headers import PREFLIGHT
from server.keys.admission import Admission
from server.views.collection import ViewCollection
from server.workspaces.workspaces import Workspaces
from snapshots.model import Api, ApiKind


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
    """UTC milliseconds."""
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
        clock: Callable[[], int],
    ) -> None:
        self._workspaces = workspaces
        self._admission = admission
        self._views = views
        self._making = making
        self._known = known
        self._clock = clock

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

    async def preflight(self, _request: Request) -> Response:
        """Answer OPTIONS."""
        return Response(status_code=204, headers=PREFLIGHT)

    async def _answer(self, request: Request, bound: Callable[[Asked], Work]) -> ASGIApp:
        """Answer from the snapshot that is current now, at one instant ``now`` (decision 22). ``bound`` parses and
        binds the request; its work selects, reads and expands."""
        now = self._clock()
        scope, path = request.scope, request.path_params
        headers = read_headers(scope)
        workspace, draft_key = path["workspace"], headers.get(b"x-draft-key")
        exchange = exchange_of(scope)
        exchange.workspace = workspace
        keyring = self._workspaces.keyring
        key = self._workspaces.authorize(headers.get(b"x-api-key"), workspace, now)
        with self._workspaces.lease(workspace) as snapshot:
            await self._admission.admit(exchange, workspace, key, snapshot, now)
            query = scope["query_string"]
            counts = self._views.counts(workspace)
            # The keys of kept answers do not tell X-Draft-Key, so an answer that it decides about has none.
            kept_by = None if draft_key is not None else AnswerKey(scope["raw_path"], query, snapshot.number, key.scope)
            accepted = headers.get(b"accept-encoding")
            wanted = Wanted(snapshot, kept_by, query, accepted, now, counts.entry_totals.generation)
            kept = answer = self._making.kept(wanted)
            if answer is None:
                secret = self._workspaces.draft_secret(workspace)
                endpoint, entry_id = path.get("endpoint", ""), path.get("entryId")
                asked = Asked(snapshot.reader, key, endpoint, entry_id, query, draft_key, secret, now, counts)
                answer = await self._making.made(wanted, bound(asked))
            representation = await self._making.represented(wanted, answer)
        if kept is not None and kept_by is not None:
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
        return Answer(list_answer(reader, plan, now, totals), content_lifetime(reader, plan, now, totals.generation))

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
        return Answer(entry_answer(reader, plan, entry_id, now, secret), content_lifetime(reader, plan, now, 0))

    return Work(effort(reader, plan, now, asked.counts.entry_totals), make)


def _schema(asked: Asked) -> Work:
    """Bind a request for the schema, which takes no parameters."""
    return Work(Effort.SHORT, lambda: Answer(schema_document(asked.reader, asked.key.scope), Lifetime()))


def _views(asked: Asked) -> Work:
    """Bind a request for view counts, whose parameters are parsed with its work."""
    api = _api(asked)

    def make() -> Answer:
        body = answer_views(asked.reader, api, asked.query, asked.now, asked.counts)
        return Answer(body, views_lifetime(asked.now, asked.counts.entry_totals.generation))

    return Work(Effort.SHORT, make)


def _api(asked: Asked) -> Api:
    """Return the API at an endpoint. Raises ``NotFound``, the same for one that is not there and one the key may not
    read, so that a key tells nothing of what lies outside its scope."""
    api = asked.reader.manifest.workspace.api(asked.endpoint)
    if api is None or not in_scope(api, asked.key.scope):
        raise NotFound("There is no such API in this workspace, or this API key may not read it.")
    return api

"""The read endpoints of ``/v1``: request → authorize → limit → API → answer of a snapshot (contract 4, decision 1)."""

from __future__ import annotations

import re
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from engine.keys.keys import Key
from engine.keys.last_use import LastUse
from engine.keys.rate_limit import DEFAULT_LIMIT
from engine.page_views.counting.counts import Counts
from engine.query.answer import NotFound, entry_answer, list_answer, schema_document
from engine.query.answer_cache import Answer, Lifetime, content_lifetime, views_lifetime
from engine.query.answer_cache import Key as AnswerKey
from engine.query.at_once import answered_at_once, has_few_values
from engine.query.parameters import parse_entry_query, parse_list_query
from engine.query.plan import EntryPlan, ListPlan, bind_entry, bind_list, in_scope
from engine.query.view_counts import answer_views
from engine.reader.reader import Reader
from server.content.answer_queue import Answers
from server.content.workspaces import Workspaces
from server.http.middleware import Exchange, exchange_of
from server.keys.rate_limit import COUNTED, RateLimits, TooManyRequests
from server.views.collection import ViewCollection
from snapshots.model import Api, ApiKind

Work = Callable[[Reader, Key, int, Counts], Answer]
"""(reader, key, now in UTC milliseconds, view counts) → the answer; runs in a thread and may block."""

_QUICK = frozenset({b"", b"limit", b"offset", b"depth", b"fields", b"lang", b"lang_fallback", b"include"})
"""The parameters of lists that need no search and no sorting."""
_PLAIN = re.compile(rb"(?!q=)\w*(?:=|$)")
"""How every parameter begins of a list that may be answered at once; most others need not even be parsed for that."""
_BY_VALUES = re.compile(rb"(?:^|&)(?:orders=|filters=(?!publishedAt))")
"""What is in a query that looks at the values of fields."""


class Delivery:
    """Answers from the snapshots that are current, to keys that may read them."""

    def __init__(
        self,
        workspaces: Workspaces,
        rate_limits: RateLimits,
        uses: LastUse,
        views: ViewCollection,
        answers: Answers,
        clock: Callable[[], int],
    ) -> None:
        self._workspaces = workspaces
        self._rate_limits = rate_limits
        self._uses = uses
        self._views = views
        self._answers = answers
        self._clock = clock

    async def contents(self, request: Request) -> Response:
        """``/v1/{workspace}/{endpoint}``: the list, or the item of an object API."""
        query: bytes = request.scope["query_string"]

        def work(reader: Reader, key: Key, now: int, counts: Counts) -> Answer:
            api = api_in_scope(reader, key, request.path_params["endpoint"])
            if api.kind is ApiKind.OBJECT:
                return self._entry(request, reader, key, now, api, None)
            plan = bind_list(parse_list_query(query), api, reader.workspace, key.scope)
            totals = counts.entry_totals
            return Answer(
                list_answer(reader, plan, now, totals), content_lifetime(reader, plan, now, totals.generation)
            )

        return await self._answer(request, work, quick=is_quick(query))

    async def entry(self, request: Request) -> Response:
        """``/v1/{workspace}/{endpoint}/{entryId}``: one entry of a list API."""

        def work(reader: Reader, key: Key, now: int, _: Counts) -> Answer:
            api = api_in_scope(reader, key, request.path_params["endpoint"])
            if api.kind is ApiKind.OBJECT:
                raise NotFound(f'"{api.endpoint}" is an object API: it has no entries. Leave the ID off the path.')
            return self._entry(request, reader, key, now, api, request.path_params["entryId"])

        return await self._answer(request, work)

    async def schema(self, request: Request) -> Response:
        """``/v1/{workspace}/_schema``: the APIs the key may read, and their fields."""
        return await self._answer(
            request, lambda reader, key, _now, _counts: Answer(schema_document(reader, key.scope), Lifetime())
        )

    async def views(self, request: Request) -> Response:
        """``/v1/{workspace}/_views/{endpoint}``: how often entries of an API were viewed."""

        def work(reader: Reader, key: Key, now: int, counts: Counts) -> Answer:
            api = api_in_scope(reader, key, request.path_params["endpoint"])
            body = answer_views(reader, api, request.scope["query_string"], now, counts)
            return Answer(body, views_lifetime(now, counts.entry_totals.generation))

        return await self._answer(request, work)

    async def preflight(self, _request: Request) -> Response:
        """OPTIONS: any page may send the two headers of the service (decision 3)."""
        return Response(
            status_code=204,
            headers={
                "Access-Control-Allow-Methods": "GET, HEAD",
                "Access-Control-Allow-Headers": "X-API-KEY, X-Draft-Key",
                "Access-Control-Max-Age": "86400",
                "Allow": "GET, HEAD, OPTIONS",
            },
        )

    async def _answer(self, request: Request, work: Work, *, quick: bool = True) -> Response:
        """Authorize, limit, then answer from the snapshot that is current now, at one instant ``now`` (decision 22)."""
        exchange = exchange_of(request.scope)
        now = self._clock()
        workspace = exchange.workspace = request.path_params["workspace"]
        key = self._workspaces.authorize(header(request, b"x-api-key"), workspace, now)
        exchange.key_prefix = key.prefix
        self._uses.note(workspace, key.id, now)
        exchange.allowance = request.scope.get(COUNTED)
        if exchange.allowance is None:
            await self._limit(exchange, workspace, key, now)
        snapshot = self._workspaces.lease(workspace)
        exchange.snapshot = snapshot.reader.version
        counts = self._views.counts(workspace)
        form = await self._answers.answer(
            snapshot,
            AnswerKey(request.scope["raw_path"], request.scope["query_string"], snapshot.number, key.scope),
            lambda: work(snapshot.reader, key, now, counts),
            header(request, b"accept-encoding"),
            now,
            counts.entry_totals.generation,
            quick=quick,
            keep=header(request, b"x-draft-key") is None,
        )
        response = Response(form.body)
        response.raw_headers = list(form.headers)
        return response

    def _entry(self, request: Request, reader: Reader, key: Key, now: int, api: Api, entry_id: str | None) -> Answer:
        """One entry, or the item of an object API."""
        asked = parse_entry_query(request.scope["query_string"], header(request, b"x-draft-key"))
        plan = bind_entry(asked, api, reader.workspace, key.scope)
        secret = self._workspaces.draft_secret(request.path_params["workspace"])
        return Answer(entry_answer(reader, plan, entry_id, now, secret), content_lifetime(reader, plan, now, 0))

    async def _limit(self, exchange: Exchange, workspace: str, key: Key, now: int) -> None:
        """Count the request for its key, whatever becomes of it after this. Raises ``TooManyRequests``; a request
        refused so is not counted."""
        served = self._workspaces.served(workspace)
        limit = key.rate_limit
        if served is not None:
            exchange.snapshot = served.reader.version
            limit = limit or served.reader.manifest.workspace.rate_limit
        allowance = await self._rate_limits.take(workspace, key, limit or DEFAULT_LIMIT, now)
        exchange.allowance = allowance
        if not allowance.allowed:
            raise TooManyRequests(allowance)


def work_at_once(reader: Reader, key: Key, path: bytes, query: bytes, now: int) -> Callable[[], Answer] | None:
    """What answers a GET of entries at once, on the event loop: parse → bind → (render → expand → respond).

    ``None`` where that would need a statement, many documents, or closer reading: a thread answers, errors included.
    Raises ``InvalidQuery``.
    """
    names = path.decode("latin-1").split("/")[3:]
    if b"%" in path or not names or not all(names):
        return None
    api = reader.manifest.workspace.api(names[0])
    if api is None or not in_scope(api, key.scope):
        return None
    plan: ListPlan | EntryPlan
    if len(names) == 1 and api.kind is ApiKind.LIST:
        if not all(_PLAIN.match(part) for part in query.split(b"&")):
            return None
        if _BY_VALUES.search(query) and not has_few_values(reader, api):
            return None
        listed = plan = bind_list(parse_list_query(query), api, reader.workspace, key.scope)

        def body() -> bytes:
            return list_answer(reader, listed, now)

    elif len(names) == (2 if api.kind is ApiKind.LIST else 1):
        single = plan = bind_entry(parse_entry_query(query, None), api, reader.workspace, key.scope)
        if single.draft_key is not None:
            return None  # a preview needs the workspace's secret, which is not known here

        def body() -> bytes:
            return entry_answer(reader, single, names[1] if names[1:] else None, now, b"")

    else:
        return None
    if not answered_at_once(reader, plan, now):
        return None
    return lambda: Answer(body(), content_lifetime(reader, plan, now, 0))


def is_quick(query: bytes) -> bool:
    """Whether a list is known to need no search and no sorting."""
    return all(part.partition(b"=")[0] in _QUICK for part in query.split(b"&"))


def api_in_scope(reader: Reader, key: Key, endpoint: str) -> Api:
    """The API at an endpoint. Raises ``NotFound``, the same for one that is not there and one the key may not
    read, so that a key tells nothing of what lies outside its scope."""
    api = reader.manifest.workspace.api(endpoint)
    if api is None or not in_scope(api, key.scope):
        raise NotFound("There is no such API in this workspace, or this API key may not read it.")
    return api


def header(request: Request, name: bytes) -> bytes | None:
    """A header's value as sent, ``None`` without it; repeated ones are joined as HTTP has it."""
    values = [value for found, value in request.scope["headers"] if found == name]
    return b", ".join(values) if values else None

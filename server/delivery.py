"""The read endpoints of ``/v1``: request → authorize → limit → API → answer of a snapshot (contract 4, decision 1)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor

from starlette.requests import Request
from starlette.responses import Response

from engine.answers import NotFound, answer_entry, answer_list, answer_object, schema_document
from engine.keys import Key
from engine.last_use import LastUse
from engine.page_views.answers import answer_views
from engine.rate_limit import DEFAULT_LIMIT
from engine.reader import Reader
from server.answering import JSON, Exchange, exchange_of
from server.rate_limit import RateLimits, TooManyRequests
from server.snapshots import OpenSnapshot
from server.view_collection import ViewCollection
from server.workspaces import Workspaces
from snapshots.model import Api, ApiKind

Work = Callable[[Reader, Key, int], bytes]
"""(reader, key, now in UTC milliseconds) → the body of the answer; runs in a thread and may block."""


class Delivery:
    """Answers from the snapshots that are current, to keys that may read them."""

    def __init__(
        self,
        workspaces: Workspaces,
        rate_limits: RateLimits,
        uses: LastUse,
        views: ViewCollection,
        threads: Executor,
        clock: Callable[[], int],
    ) -> None:
        self._workspaces = workspaces
        self._rate_limits = rate_limits
        self._uses = uses
        self._views = views
        self._threads = threads
        self._clock = clock

    async def contents(self, request: Request) -> Response:
        """``/v1/{workspace}/{endpoint}``: the list, or the item of an object API."""
        query: bytes = request.scope["query_string"]
        draft_key = header(request, b"x-draft-key")
        workspace = request.path_params["workspace"]
        secret = self._workspaces.draft_secret

        def work(reader: Reader, key: Key, now: int) -> bytes:
            api = api_in_scope(reader, key, request.path_params["endpoint"])
            if api.kind is ApiKind.LIST:
                return answer_list(reader, api, key.scope, query, now, self._views.counts(workspace).entry_totals)
            return answer_object(reader, api, key.scope, query, draft_key, now, secret(workspace))

        return await self._answer(request, work)

    async def entry(self, request: Request) -> Response:
        """``/v1/{workspace}/{endpoint}/{entryId}``: one entry of a list API."""
        query: bytes = request.scope["query_string"]
        draft_key = header(request, b"x-draft-key")
        workspace = request.path_params["workspace"]
        secret = self._workspaces.draft_secret

        def work(reader: Reader, key: Key, now: int) -> bytes:
            api = api_in_scope(reader, key, request.path_params["endpoint"])
            if api.kind is ApiKind.OBJECT:
                raise NotFound(f'"{api.endpoint}" is an object API: it has no entries. Leave the ID off the path.')
            entry = request.path_params["entryId"]
            return answer_entry(reader, api, entry, key.scope, query, draft_key, now, secret(workspace))

        return await self._answer(request, work)

    async def schema(self, request: Request) -> Response:
        """``/v1/{workspace}/_schema``: the APIs the key may read, and their fields."""
        return await self._answer(request, lambda reader, key, _now: schema_document(reader, key.scope))

    async def views(self, request: Request) -> Response:
        """``/v1/{workspace}/_views/{endpoint}``: how often entries of an API were viewed."""
        query: bytes = request.scope["query_string"]
        counts = self._views.counts

        def work(reader: Reader, key: Key, now: int) -> bytes:
            api = api_in_scope(reader, key, request.path_params["endpoint"])
            return answer_views(reader, api, query, now, counts(request.path_params["workspace"]))

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

    async def _answer(self, request: Request, work: Work) -> Response:
        """Authorize, limit, then answer from the snapshot that is current now, at one instant ``now`` (decision 22)."""
        exchange = exchange_of(request.scope)
        now = self._clock()
        workspace = exchange.workspace = request.path_params["workspace"]
        key = self._workspaces.authorize(header(request, b"x-api-key"), workspace, now)
        exchange.key_prefix = key.prefix
        self._uses.note(workspace, key.id, now)
        await self._limit(exchange, workspace, key, now)
        snapshot = self._workspaces.lease(workspace)
        exchange.snapshot = snapshot.reader.version
        body = await self._run(snapshot, lambda: work(snapshot.reader, key, now))
        return Response(body, media_type=JSON)

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

    async def _run(self, snapshot: OpenSnapshot, work: Callable[[], bytes]) -> bytes:
        """Run ``work`` in a thread and release the snapshot after it, even when nobody waits for it any more."""
        try:
            future = self._threads.submit(work)
        except BaseException:
            snapshot.release()
            raise
        future.add_done_callback(lambda _: snapshot.release())
        return await asyncio.wrap_future(future)


def api_in_scope(reader: Reader, key: Key, endpoint: str) -> Api:
    """The API at an endpoint. Raises ``NotFound``, the same for one that is not there and one the key may not
    read, so that a key tells nothing of what lies outside its scope."""
    api = reader.manifest.workspace.api(endpoint)
    if api is None or (key.scope is not None and api.uid not in key.scope):
        raise NotFound("There is no such API in this workspace, or this API key may not read it.")
    return api


def header(request: Request, name: bytes) -> bytes | None:
    """A header's value as sent, ``None`` without it; repeated ones are joined as HTTP has it."""
    values = [value for found, value in request.scope["headers"] if found == name]
    return b", ".join(values) if values else None

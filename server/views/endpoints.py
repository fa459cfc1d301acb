"""``POST /pv/{workspace}`` and ``GET /pv/{workspace}/counts``: page views, in public (contract 4.13 and 4.14)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive

from engine.read.query.answers.bind import NotFound
from engine.read.query.answers.view_counts import answer_public_counts
from engine.views.collecting.rules import LARGEST_BODY
from server.http.access_log import logged_workspace
from server.http.entity_tags import entity_tag, is_named
from server.http.exchange import exchange_of
from server.http.headers import JSON
from server.views.collection import ReportedRequest, ViewCollection
from server.workspaces.workspaces import Workspaces

_RECEIVED: Final = Response(status_code=204)


class PageViews:
    """Takes page views and tells their counts; no key is needed."""

    def __init__(self, workspaces: Workspaces, collection: ViewCollection, senders: Callable[[], int]) -> None:
        """``senders`` returns the number of open connections, each of which sends one request at a time."""
        self._workspaces = workspaces
        self._collection = collection
        self._senders = senders

    async def record(self, request: Request) -> Response:
        """Answer ``POST /pv/{workspace}`` with 204, whether the view counts or not."""
        exchange_of(request.scope).recorded = False
        body = await _body(request.receive)
        workspace = request.path_params["workspace"]
        served = self._workspaces.served(workspace)
        if body is not None and (served is not None or await self._collection.announced(workspace)):
            scope = request.scope
            reported = ReportedRequest(workspace, served, scope["headers"], body, scope["client"])
            kept: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._collection.report(reported, partial(_finish, kept), self._senders())
            await kept
        return _RECEIVED

    async def counts(self, request: Request) -> Response:
        """Answer ``GET /pv/{workspace}/counts``: the all-time counts of the entries and paths asked for."""
        workspace = request.path_params["workspace"]
        exchange_of(request.scope).workspace = logged_workspace(workspace)
        if not self._workspaces.has(workspace):
            raise NotFound("There is no such workspace.")
        body = answer_public_counts(request.scope["query_string"], self._collection.counts(workspace))
        etag = entity_tag(body)
        headers = {"ETag": etag.decode("ascii")}
        if is_named(", ".join(request.headers.getlist("if-none-match")).encode("latin-1"), etag):
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers, media_type=JSON)


def _finish(kept: asyncio.Future[None]) -> None:
    if not kept.done():  # its request may have been given up
        kept.set_result(None)


async def _body(receive: Receive) -> bytes | None:
    """Return a request's body; ``None`` when it is too large to count, or the client goes away."""
    body: bytes = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > LARGEST_BODY:
            return None
        if not message.get("more_body"):
            return body

"""``POST /pv/{workspace}`` and ``GET /pv/{workspace}/counts``: page views, in public (contract 4.13 and 4.14)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from engine.page_views.collecting.rules import LARGEST_BODY
from engine.page_views.counting.answers import answer_public_counts
from engine.query.answer import NotFound
from server.content.snapshot_slot import OpenSnapshot
from server.content.workspaces import Workspaces
from server.http.middleware import JSON, exchange_of
from server.http.routes import path_segments
from server.views.collection import ReportedRequest, ViewCollection

_PREFIX = b"/pv/"
RECORDED_HEAD = b"HTTP/1.1 204 No Content\r\naccess-control-allow-origin: *\r\n"
"""The answer to every view, up to the headers of the connection."""
_RECORDED: tuple[Message, Message] = (
    {"type": "http.response.start", "status": 204, "headers": [(b"access-control-allow-origin", b"*")]},
    {"type": "http.response.body", "body": b""},
)


class PageViews:
    """Tells the counts; no key is needed."""

    def __init__(self, workspaces: Workspaces, collection: ViewCollection) -> None:
        self._workspaces = workspaces
        self._collection = collection

    async def counts(self, request: Request) -> Response:
        """The all-time counts of the entries and paths asked for."""
        workspace = exchange_of(request.scope).workspace = request.path_params["workspace"]
        if not self._workspaces.has(workspace):
            raise NotFound("There is no such workspace.")
        counts = self._collection.counts(workspace)
        return Response(answer_public_counts(request.scope["query_string"], counts), media_type=JSON)


class Recording:
    """Answers ``POST /pv/{workspace}`` with 204, whether the view counts or not.

    It needs no other layer: it has no failure to shape, and its views are told by their counts instead of lines in the
    access log.
    """

    def __init__(self, workspaces: Workspaces, collection: ViewCollection) -> None:
        self._workspaces = workspaces
        self._collection = collection

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Whether a ``POST`` was such a request, which then is answered."""
        workspace = _viewed_workspace(scope)
        if workspace is None:
            return False
        body = await _body(receive)
        served = self._workspaces.served(workspace)
        if body is not None and (served is not None or await self._collection.announced(workspace)):
            kept = asyncio.get_running_loop().create_future()
            self.take(
                ReportedRequest(workspace, served, scope["headers"], body, scope["client"]), partial(_finish, kept)
            )
            await kept
        for message in _RECORDED:
            await send(message)
        return True

    def viewed(self, target: bytes) -> tuple[str, OpenSnapshot] | None:
        """The workspace of ``/pv/{workspace}`` and nothing else, in plain letters, if it is served, and its snapshot.
        ``answer`` takes any form."""
        if not target.startswith(_PREFIX):
            return None
        workspace = target[len(_PREFIX) :].decode("latin-1")
        served = self._workspaces.served(workspace)
        return None if served is None else (workspace, served)

    def take(self, reported: ReportedRequest, done: Callable[[], None], connections: int | None = None) -> None:
        """Call ``done`` when the view is kept, or does not count. ``connections`` is how many are open, where each
        sends one request at a time."""
        self._collection.report(reported, done, connections)


def _viewed_workspace(scope: Scope) -> str | None:
    """The workspace of ``/pv/{workspace}``; ``None`` for every other path."""
    if scope["raw_path"].startswith(_PREFIX):
        match path_segments(scope):
            case ["pv", workspace] if workspace:
                return workspace
    return None


def _finish(kept: asyncio.Future[None]) -> None:
    if not kept.done():  # its request may have been given up
        kept.set_result(None)


async def answered_before(_request: Request) -> Response:
    """What ``Recording`` is in the list of routes: there for the other methods, which get 405 with ``Allow``."""
    raise AssertionError("a view was passed on")


async def _body(receive: Receive) -> bytes | None:
    """The request's body; ``None`` when it is too large to count, or the client goes away."""
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

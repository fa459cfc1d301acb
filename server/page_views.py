"""``POST /pv/{workspace}`` and ``GET /pv/{workspace}/counts``: page views, in public (contract 4.13 and 4.14)."""

from __future__ import annotations

import logging

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from engine.answers import NotFound
from engine.page_views.answers import answer_public_counts
from engine.page_views.rules import LARGEST_BODY
from server.answering import JSON, exchange_of
from server.logs import LOGGER
from server.routes import path_segments
from server.view_collection import ViewCollection
from server.workspaces import Workspaces

_log = logging.getLogger(LOGGER)
_NEEDED = frozenset({b"content-type", b"origin", b"user-agent", b"x-forwarded-for"})
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
        match path_segments(scope):
            case ["pv", workspace] if workspace:
                await self._record(workspace, scope, receive)
                for message in _RECORDED:
                    await send(message)
                return True
        return False

    async def _record(self, workspace: str, scope: Scope, receive: Receive) -> None:
        try:
            body = await _body(receive)
            served = self._workspaces.served(workspace)
            if served is not None and body is not None:
                kept = self._collection.report(workspace, served, _headers(scope), body, scope["client"])
                if kept is not None:
                    await kept
        except Exception:
            _log.exception("recording a page view failed unexpectedly")


async def answered_before(_request: Request) -> Response:
    """What ``Recording`` is in the list of routes: there for the other methods, which get 405 with ``Allow``."""
    raise AssertionError("a view was passed on")


def _headers(scope: Scope) -> dict[bytes, bytes]:
    """The headers that matter, repeated ones joined as HTTP has it."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in _NEEDED:
            found[name] = b", ".join((found[name], value)) if name in found else value
    return found


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

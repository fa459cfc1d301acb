"""``POST /pv/{workspace}`` and ``GET /pv/{workspace}/counts``: page views, in public (contract 4.13 and 4.14)."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from engine.answers import NotFound
from engine.page_views.answers import answer_public_counts
from engine.page_views.rules import LARGEST_BODY
from server.answering import JSON, exchange_of
from server.view_collection import ViewCollection
from server.workspaces import Workspaces


class PageViews:
    """Records views and tells the counts; no key is needed."""

    def __init__(self, workspaces: Workspaces, collection: ViewCollection) -> None:
        self._workspaces = workspaces
        self._collection = collection

    async def record(self, request: Request) -> Response:
        """204, whether the view counts or not."""
        workspace = exchange_of(request.scope).workspace = request.path_params["workspace"]
        body = await _body(request)
        served = self._workspaces.served(workspace)
        if served is not None and body is not None:
            found: dict[bytes, bytes] = {}
            for name, value in request.scope["headers"]:
                found[name] = b", ".join((found[name], value)) if name in found else value
            client = request.scope["client"]
            forwarded = found.get(b"x-forwarded-for")
            self._collection.report(
                workspace,
                served,
                (found.get(b"content-type"), found.get(b"origin"), found.get(b"user-agent")),
                body,
                client[0] if client else None,
                forwarded.decode("latin-1") if forwarded else None,
            )
        return Response(status_code=204)

    async def counts(self, request: Request) -> Response:
        """The all-time counts of the entries and paths asked for."""
        workspace = exchange_of(request.scope).workspace = request.path_params["workspace"]
        if not self._workspaces.has(workspace):
            raise NotFound("There is no such workspace.")
        counts = self._collection.counts(workspace)
        return Response(answer_public_counts(request.scope["query_string"], counts), media_type=JSON)


async def _body(request: Request) -> bytes | None:
    """The request's body; ``None`` when it is too large to count, or the client goes away."""
    body: bytes = b""
    while True:
        message = await request.receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > LARGEST_BODY:
            return None
        if not message.get("more_body"):
            return body

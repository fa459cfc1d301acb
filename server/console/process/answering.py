"""A request that a worker has passed on → the answer of the pages, whole."""

from __future__ import annotations

from urllib.parse import unquote

from starlette.types import ASGIApp, Message, Scope

from server.console.process.messages import Answered, Headers, PassedOn
from server.http.exchange import begin_exchange


async def answered(pages: ASGIApp, request: PassedOn) -> Answered:
    """Return what the application ``pages`` answers to a request."""
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": unquote(request.raw_path),
        "raw_path": request.raw_path,
        "query_string": request.query,
        "root_path": "",
        "headers": request.headers,
        "client": (request.visitor.hex(), 0),
        "server": None,
    }
    exchange = begin_exchange(scope, request.request_id)
    answer = _Collected()

    async def receive() -> Message:
        return {"type": "http.request", "body": request.body, "more_body": False}

    await pages(scope, receive, answer.send)
    return Answered(answer.status, answer.headers, bytes(answer.body), exchange.workspace, exchange.signed_in)


class _Collected:
    """Takes an answer in, piece by piece."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: Headers = []
        self.body = bytearray()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = list(message["headers"])
        else:
            self.body += message.get("body", b"")

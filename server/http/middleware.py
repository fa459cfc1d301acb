"""Around every request: errors → JSON, the headers every answer carries, and one line in the access log."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

import msgspec
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.keys.rate_limit import Allowance
from server.http.access_log import logged_target
from server.http.outcomes import Outcomes
from server.http.request_ids import HEADER, request_id_of
from server.http.routes import path_segments
from server.keys.rate_limit import rate_limit_headers
from server.logs import LOGGER

JSON = "application/json"
EVERY_V1_ANSWER = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b"X-Snapshot, X-Request-ID, Retry-After, RateLimit, RateLimit-Policy"),
    (b"cache-control", b"private, no-store"),
)
"""Failures included (decisions 29 and 42)."""

_log = logging.getLogger(LOGGER)
_EVERY_PUBLIC_ANSWER = ((b"access-control-allow-origin", b"*"),)
_EVERY_COUNTS_ANSWER = (*_EVERY_PUBLIC_ANSWER, (b"cache-control", b"public, max-age=60, s-maxage=300"))


class Exchange(msgspec.Struct):
    """What becomes known about a request while it is answered."""

    request_id: str
    workspace: str | None = None
    """As the path names it, where it names one."""
    key_prefix: str | None = None
    """Of a key that was issued, accepted or not."""
    snapshot: str | None = None
    """The version that answers, once the request is authenticated."""
    allowance: Allowance | None = None
    """What the key's rate limit said, once the request is authenticated."""


def exchange_of(scope: Scope) -> Exchange:
    """The ``Exchange`` of the request a scope belongs to."""
    found = scope["parquetry.exchange"]
    assert isinstance(found, Exchange)  # noqa: S101 - put there by Answering, for mypy
    return found


class Answering:
    """The outermost layer: whatever happens inside, the client gets one complete answer, and the log one line."""

    def __init__(
        self, app: ASGIApp, answer_error: Callable[[Exception, Exchange], Response], outcomes: Outcomes
    ) -> None:
        self._app = app
        self._answer_error = answer_error
        self._outcomes = outcomes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        request_id = request_id_of(scope)
        exchange = scope["parquetry.exchange"] = Exchange(request_id.decode("ascii"))
        everywhere = (*_headers_of(path_segments(scope)), (HEADER, request_id))
        status = 0
        size = 0

        async def answer(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"].extend(everywhere)
                if exchange.allowance is not None:
                    message["headers"].extend(rate_limit_headers(exchange.allowance))
                if exchange.snapshot is not None:
                    message["headers"].append((b"x-snapshot", exchange.snapshot.encode("ascii")))
            elif message["type"] == "http.response.body":
                if scope["method"] == "HEAD":
                    message["body"] = b""
                size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, answer)
        except asyncio.CancelledError:  # the time for finishing is over
            if not status:
                await error_response(503, "The server is stopping.", {"Retry-After": "1"})(scope, receive, answer)
            raise
        except Exception as error:
            if status:
                raise  # too late for another answer: the connection is cut
            await self._answer_error(error, exchange)(scope, receive, answer)
        finally:
            self._outcomes.record(
                scope["method"],
                logged_target(scope["raw_path"], scope["query_string"]),
                status,
                time.perf_counter() - started,
                size,
                exchange.workspace,
                exchange.key_prefix,
                exchange.request_id,
            )


def _headers_of(segments: list[str]) -> tuple[tuple[bytes, bytes], ...]:
    """The headers of every answer at a path, failures included (decisions 29, 42 and 46)."""
    if segments[:1] == ["v1"]:
        return EVERY_V1_ANSWER
    if segments[:1] == ["pv"]:
        return _EVERY_COUNTS_ANSWER if segments[2:] == ["counts"] else _EVERY_PUBLIC_ANSWER
    return ()


def error_response(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    """A failure as every client gets it: JSON with one member ``message`` (contract 2.6)."""
    printable = message.encode("utf-8", "replace").decode()
    return Response(msgspec.json.encode({"message": printable}), status, headers, JSON)


def unexpected_error(error: Exception, request_id: str) -> Response:
    """The answer to a failure of the server itself: no detail for the client, all of it for the log."""
    _log.error("request %s failed unexpectedly", request_id, exc_info=error)
    return error_response(500, f"Something went wrong on the server. It has been logged as {request_id}.")

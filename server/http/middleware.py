"""The layer around every request: errors as JSON, the headers of every answer, and one line in the access log."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

import msgspec
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.http.access_log import logged_target
from server.http.exchange import Exchange, begin_exchange
from server.http.headers import JSON, exchange_headers, failure_headers
from server.http.outcomes import Outcomes
from server.logs import LOGGER
from server.tracing.trace_context import CURRENT
from server.tracing.trace_context import HEADER as TRACEPARENT
from snapshots.problems import ParquetryError

_log = logging.getLogger(LOGGER)


class Answering:
    """The outermost layer: whatever happens inside, the client gets one complete answer, and the log one line."""

    def __init__(
        self,
        app: ASGIApp,
        answer_error: Callable[[Exception, Exchange], Response],
        outcomes: Outcomes,
    ) -> None:
        self._app = app
        self._answer_error = answer_error
        self._outcomes = outcomes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        exchange = begin_exchange(scope)
        traceparent = exchange.headers.get(TRACEPARENT)
        tracing = self._outcomes.tracing
        if tracing.is_on or traceparent is not None:
            exchange.trace = tracing.begin(scope, traceparent)
        status = 0
        size = 0

        async def answer(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *exchange_headers(exchange)]
            elif message["type"] == "http.response.body":
                if scope["method"] == "HEAD":
                    message["body"] = b""
                size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, answer)
        except asyncio.CancelledError:  # the time for finishing is over
            if not status:
                stopping = error_response(503, "The server is stopping.", failure_headers(503))
                await stopping(scope, receive, answer)
            raise
        except Exception as error:
            if status:
                raise  # too late for another answer: the connection is cut
            await self._answer_error(error, exchange)(scope, receive, answer)
        finally:
            if exchange.recorded:
                target = exchange.target or logged_target(scope["raw_path"], scope["query_string"])
                self._outcomes.record(exchange, scope["method"], target, status, time.perf_counter() - started, size)
            if exchange.trace is not None:
                CURRENT.set(None)  # the next request of a connection may begin in this context


def error_body(message: str) -> bytes:
    """Return the body of a failure as every client gets it: JSON with one member ``message`` (contract 2.6)."""
    return msgspec.json.encode({"message": message.encode("utf-8", "replace").decode()})


def error_response(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    """Return the answer to a request that failed."""
    return Response(error_body(message), status, headers, JSON)


def unexpected_error(error: Exception, exchange: Exchange) -> Response:
    """Return the answer to a failure of the server itself: no detail for the client, all of it for the log."""
    if isinstance(error, ParquetryError):  # whose message says it all
        _log.error("request %s failed: %s", exchange.logged, error)
    else:
        _log.error("request %s failed unexpectedly", exchange.logged, exc_info=error)
    shown = exchange.request_id.decode("ascii")
    return error_response(500, f"Something went wrong on the server. It has been logged as {shown}.")

"""What surrounds every request: unexpected errors, common headers, the log line, and the slow client's rest."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from engine.access.keys.keys import new_key_text
from server.http.access_log import AccessLog
from server.http.exchange import exchange_of
from server.http.middleware import Answering, unexpected_error
from server.http.outcomes import Outcomes
from server.logs import LOGGER, TextFormatter

KEY = new_key_text()


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> pytest.LogCaptureFixture:
    monkeypatch.setattr(logging.getLogger(LOGGER), "propagate", True)
    return caplog


def run(app: Any, path: bytes = b"/v1/acme/posts", method: str = "GET") -> tuple[list[dict[str, Any]], list[str]]:
    """Send one request: (the messages sent to the client, the lines of the access log)."""
    sent: list[dict[str, Any]] = []
    lines: list[str] = []

    async def send(message: Any) -> None:
        sent.append(dict(message))

    async def receive() -> Any:
        raise AssertionError("no answer depends on a body")

    async def exchange() -> None:
        access_log = AccessLog("text", lines.extend)
        scope = {"type": "http", "method": method, "raw_path": path, "query_string": b"", "headers": []}
        try:
            answering = Answering(app, unexpected_error, Outcomes(access_log))
            await answering(scope, receive, send)
        finally:
            await access_log.close()

    asyncio.run(exchange())
    return sent, lines


def test_an_unexpected_error_tells_the_client_nothing_and_the_log_all(log: pytest.LogCaptureFixture) -> None:
    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        exchange_of(scope).snapshot = "20260101T000000000Z-00000000"
        raise RuntimeError(f"secret detail {KEY}")

    (start, body), (line,) = run(app)
    headers = dict(start["headers"])
    assert start["status"] == 500
    assert b"detail" not in body["body"]
    assert headers[b"content-type"] == b"application/json"
    assert headers[b"access-control-allow-origin"] == b"*"
    assert headers[b"cache-control"] == b"private, no-store"
    assert headers[b"x-snapshot"] == b"20260101T000000000Z-00000000"
    assert " 500 " in line
    (record,) = log.records
    text = TextFormatter().format(record)
    assert "RuntimeError: secret detail" in text
    assert KEY not in text


def test_an_error_after_the_answer_began_cuts_the_connection() -> None:
    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        run(app)


@pytest.mark.parametrize(("path", "common"), [(b"/v1/x", True), (b"/v1", True), (b"/%761/x", True), (b"/v10/x", False)])
def test_the_headers_of_v1(path: bytes, common: bool) -> None:
    (start, _), _ = run(Response(b"{}"), path)
    headers = dict(start["headers"])
    assert (headers.get(b"access-control-allow-origin") == b"*") is common
    assert (headers.get(b"cache-control") == b"private, no-store") is common
    assert b"x-snapshot" not in headers


def test_head_has_the_length_of_get_and_no_body() -> None:
    (start, body), (line,) = run(Response(b"12345"), method="HEAD")
    assert dict(start["headers"])[b"content-length"] == b"5"
    assert body["body"] == b""
    assert " 0B " in line

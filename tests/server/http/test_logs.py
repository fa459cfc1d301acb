"""The log and the access log: their forms, and what never appears in them."""

from __future__ import annotations

import asyncio
import json
import logging
import sys

import pytest

from server.http.access_log import LONGEST_PATH, MOST_WAITING, AccessLog, logged_target, logged_workspace
from server.http.exchange import Exchange, PathClass
from server.logs import JsonFormatter, TextFormatter

KEY = "pq_Sample01_0123456789abcdefGHIJKLMN_4DH24W"


@pytest.mark.parametrize(
    ("path", "query", "shown"),
    [
        (b"/v1/acme/blog", b"", "/v1/acme/blog"),
        (b"/v1/acme/blog", b"limit=3&q=%E3%81%82", "/v1/acme/blog?limit=3&q=%E3%81%82"),
        (b"/v1/acme/blog/x", b"draftKey=geheim&lang=en", "/v1/acme/blog/x?draftKey=***&lang=en"),
        (b"/x", b"draft%4Bey=geheim", "/x?draft%4Bey=***"),
        (b"/x", b"DRAFTKEY=geheim&X-API-KEY=geheim&apiKey=geheim&token=geheim", None),
        (b"/x", b"draftKey", "/x?draftKey"),
        (b"/x", b"q=" + KEY.encode(), f"/x?q={KEY[:11]}_***"),
        (b"/" + KEY.encode(), b"", f"/{KEY[:11]}_***"),
        (b"/x", b"q=" + KEY.replace("_", "%5F").encode(), "/x?q=pq***"),
        (b"/x", b"q=\xff\x1b[31m\n", "/x?q=\\xff\\x1b[31m\\n"),
    ],
)
def test_logged_target(path: bytes, query: bytes, shown: str | None) -> None:
    found = logged_target(path, query)
    assert shown is None or found == shown
    assert "geheim" not in found
    assert KEY not in found


def test_long_targets_are_cut() -> None:
    for character in (b"a", b"\xff", b"%FF"):
        assert len(logged_target(b"/" + character * 100_000, b"")) == LONGEST_PATH + 3
    assert logged_target(b"/" + b"a" * (LONGEST_PATH - 1), b"") == "/" + "a" * (LONGEST_PATH - 1)


def recorded(log_format: str, count: int = 1) -> list[str]:
    lines: list[str] = []

    async def run() -> None:
        log = AccessLog(log_format, lines.extend)
        exchange = Exchange(b"an-id", PathClass.DELIVERY)
        exchange.workspace, exchange.key_prefix = logged_workspace("ac\nme"), "pq_AAAAAAAA"
        for _ in range(count):
            log.record(exchange, "GET", "/v1/acme/blog", 200, 1.234, 56)
        await log.close()

    asyncio.run(run())
    return lines


def test_access_lines() -> None:
    (line,) = recorded("text")
    assert line.split(" ", 1)[1] == "GET /v1/acme/blog 200 1.23ms 56B ac\\nme pq_AAAAAAAA an-id"
    (line,) = recorded("json")
    fields = json.loads(line)
    assert fields.pop("time").endswith("Z")
    assert fields == {
        "method": "GET",
        "path": "/v1/acme/blog",
        "status": 200,
        "ms": 1.23,
        "bytes": 56,
        "workspace": "ac\\nme",
        "key": "pq_AAAAAAAA",
        "request": "an-id",
    }


def test_lines_nobody_reads_are_counted_not_kept() -> None:
    lines = recorded("json", MOST_WAITING + 7)
    assert len(lines) == MOST_WAITING + 1
    assert json.loads(lines[-1])["message"].startswith("7 more requests were not logged")


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()])
def test_no_key_in_messages_or_tracebacks(formatter: logging.Formatter) -> None:
    try:
        raise ValueError(f"odd: {KEY}")
    except ValueError:
        record = logging.LogRecord("parquetry", logging.ERROR, "f", 1, "with %s \udcff", (KEY,), sys.exc_info())
    text = formatter.format(record)
    assert "ValueError: odd: pq_" in text
    assert KEY not in text
    assert f"{KEY[:11]}_***" in text

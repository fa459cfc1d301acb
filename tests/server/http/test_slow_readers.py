"""Who reads an answer slowly gets all of it; who stops reading, or reads next to nothing, is cut off in time."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from functools import partial
from http.client import HTTPConnection
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from server.http import connections
from server.http.connections import Connections
from server.http.protocol import CONNECTIONS, DeliveryProtocol
from tests.sites.served_site import DEADLINE

pytestmark = pytest.mark.slow

SIZE = 8_000_000
"""Bytes of an answer: more than the kernel takes ahead of its client."""


async def answer(_request: Request) -> Response:
    return Response(bytes(SIZE))


@contextmanager
def served() -> Iterator[tuple[str, int]]:
    """Serve an answer of ``SIZE`` bytes with the protocol of the server, in a thread."""
    made = Connections(10)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[dict[str, Any]]:
        made.start()
        yield {CONNECTIONS: made}
        await made.stop()

    listening = socket.create_server(("127.0.0.1", 0))
    app = Starlette(routes=[Route("/", answer)], lifespan=lifespan)
    config = uvicorn.Config(
        app, http=DeliveryProtocol, loop="uvloop", log_level="error", lifespan="on", timeout_keep_alive=600
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=asyncio.run, args=(server.serve([listening]),))
    thread.start()
    try:
        yield listening.getsockname()
    finally:
        server.should_exit = server.force_exit = True
        thread.join()
        listening.close()


def read(
    address: tuple[str, int], rate: int, *, slow_bytes: int | None = None, headers: dict[str, str] | None = None
) -> int:
    """Return the bytes of the answer that a client gets who reads ``rate`` a second, or does so with ``slow_bytes`` and
    then reads the rest at once."""
    connection, got = HTTPConnection(*address, timeout=60), 0
    with closing(connection), suppress(ConnectionResetError):
        connection.request("GET", "/", headers=headers or {})
        began, response = time.monotonic(), connection.getresponse()
        while more := response.read(max(1, rate // 20)):
            got += len(more)
            if slow_bytes is None or got < slow_bytes:
                time.sleep(max(0.0, got / rate - (time.monotonic() - began)))
    return got


@pytest.mark.parametrize("headers", [{}, {"Connection": "close"}])
def test_a_slow_reader_gets_the_whole_answer(monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]) -> None:
    """What the process holds stands still for seconds at this rate, far longer than the limit; the kernel's does not.
    The limit is a tenth of the rate."""
    monkeypatch.setattr(connections, "WRITE_SECONDS", 0.8)
    monkeypatch.setattr(connections, "LEAST_READ", 24_000)
    monkeypatch.setattr(connections, "SWEEP_SECONDS", 0.1)
    with served() as address:
        assert read(address, 300_000, slow_bytes=900_000, headers=headers) == SIZE


@pytest.mark.parametrize("headers", [b"", b"Connection: close\r\n"])
@pytest.mark.parametrize("rate", [1, 2_000])
def test_who_stops_reading_or_nearly_so_is_cut_off(monkeypatch: pytest.MonkeyPatch, rate: int, headers: bytes) -> None:
    monkeypatch.setattr(connections, "WRITE_SECONDS", 0.5)
    monkeypatch.setattr(connections, "SWEEP_SECONDS", 0.1)
    monkeypatch.setattr(connections, "LEAST_READ", 100_000)
    with served() as address, socket.socket() as opened:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        opened.connect(address)
        opened.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n%b\r\n" % headers)
        ended, began = False, time.monotonic()
        while not ended and time.monotonic() - began < DEADLINE:
            time.sleep(0.1)
            try:
                if rate > 1:
                    opened.recv(rate // 10)
                ended = opened.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0
            except ConnectionResetError:
                ended = True
        assert ended


def test_an_answer_that_only_the_kernel_holds_is_cut_off_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "WRITE_SECONDS", 0.5)
    monkeypatch.setattr(connections, "SWEEP_SECONDS", 0.1)
    monkeypatch.setattr("tests.server.http.test_slow_readers.SIZE", 300_000)
    with served() as address, socket.socket() as opened:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        opened.connect(address)
        opened.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        began = time.monotonic()
        while opened.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0:
            assert time.monotonic() - began < DEADLINE, "long before an idle connection is closed"
            time.sleep(0.05)


def test_slow_readers_get_the_whole_answer_at_the_true_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.server.http.test_slow_readers.SIZE", 11_400_000)
    with served() as address, ThreadPoolExecutor() as pool:
        assert [*pool.map(partial(read, address), [30_000, 60_000])] == [11_400_000, 11_400_000]

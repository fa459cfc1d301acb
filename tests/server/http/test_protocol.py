"""HTTP/1.1 over real sockets: what is one request and what is the next, what is refused, and when a connection ends."""

from __future__ import annotations

import ast
import asyncio
import gc
import inspect
import json
import socket
import threading
import time
import tomllib
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from server.http.access_log import AccessLog
from server.http.connections import Connections
from server.http.outcomes import Outcomes
from server.http.protocol import CONNECTIONS, OUTCOMES, DeliveryProtocol
from tests.sites.served_site import eventually

KEEP_ALIVE = 1
UPGRADE = b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n"


@dataclass
class Told:
    """What the application was asked, in order: (method, path, header names, body)."""

    requests: list[tuple[str, str, list[bytes], bytes]] = field(default_factory=list)
    port: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await receive()
            outcomes = Outcomes(AccessLog("text", lambda _: None))
            scope["state"].update({CONNECTIONS: Connections(100), OUTCOMES: outcomes})
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        body, more = b"", scope["path"] != "/unread"
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message["body"]
            more = message["more_body"]
        if scope["path"] == "/slow":
            await asyncio.sleep(0.3)
        self.requests.append((scope["method"], scope["path"], [name for name, _ in scope["headers"]], body))
        answer = json.dumps([scope["method"], scope["path"], len(body)]).encode()
        headers = [(b"content-length", b"%d" % len(answer))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})


@pytest.fixture
def told() -> Iterator[Told]:
    with serving(Told()) as app:
        yield app


@contextmanager
def serving(app: Told, keep_alive: int = KEEP_ALIVE) -> Iterator[Told]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        app.port = listener.getsockname()[1]
        config = uvicorn.Config(
            app,
            http=DeliveryProtocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            timeout_keep_alive=keep_alive,
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            eventually(lambda: server.started)
            yield app
        finally:
            server.should_exit = True
            thread.join()


def exchange(told: Told, *pieces: bytes, pause: float = 0.05, answered: bool = False) -> list[tuple[int, Any]]:
    """Send pieces of bytes one after another, and read until the server ends the connection: status and JSON of each
    answer. Where the first piece is ``answered``, its answer is waited for before the next is sent."""
    received = b""
    with socket.create_connection(("127.0.0.1", told.port), timeout=60) as connection:
        for piece in pieces:
            connection.sendall(piece)
            while answered and not received.endswith(b"]"):
                received += connection.recv(65536)
            time.sleep(pause)
        received += b"".join(iter(lambda: connection.recv(65536), b""))
    return answers(received)


def answers(received: bytes) -> list[tuple[int, Any]]:
    found = []
    while received:
        head, _, received = received.partition(b"\r\n\r\n")
        headers = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        size = int(headers[b"content-length"])
        found.append((int(head.split(b" ", 2)[1]), json.loads(received[:size])))
        received = received[size:]
    return found


def get(path: str, headers: bytes = b"Host: x\r\n") -> bytes:
    return f"GET {path} HTTP/1.1\r\n".encode() + headers + b"\r\n"


def test_what_follows_an_offer_to_upgrade_is_the_next_request(told: Told) -> None:
    first = get("/1", b"Host: x\r\n" + UPGRADE)
    found = exchange(told, first + get("/2") + first + get("/3") + get("/4", b"Host: x\r\nConnection: close\r\n"))
    assert found == [(200, ["GET", path, 0]) for path in ("/1", "/2", "/1", "/3", "/4")]


@pytest.mark.parametrize("cut", [0, 30, 95, 100, 118, 130, 150])
def test_the_body_of_an_offer_to_upgrade_is_its_body(told: Told, cut: int) -> None:
    hidden = get("/hidden")
    post = b"POST /1 HTTP/1.1\r\nHost: x\r\n" + UPGRADE + b"Content-Length: %d\r\n\r\n" % len(hidden) + hidden
    sent = post + get("/2", b"Host: x\r\nConnection: close\r\n")
    assert exchange(told, sent[:cut], sent[cut:]) == [(200, ["POST", "/1", len(hidden)]), (200, ["GET", "/2", 0])]
    assert told.requests[0][3] == hidden


def test_a_chunked_body_of_an_offer_to_upgrade_is_its_body(told: Told) -> None:
    chunked = b"POST /1 HTTP/1.1\r\nHost: x\r\n" + UPGRADE + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    found = exchange(told, chunked + get("/2", b"Host: x\r\nConnection: close\r\n"))
    assert found == [(200, ["POST", "/1", 3]), (200, ["GET", "/2", 0])]
    assert told.requests[0][3] == b"abc"


def test_the_limits_hold_for_an_offer_to_upgrade(told: Told) -> None:
    assert exchange(told, get("/1", UPGRADE))[0][0] == 400, "without a Host"
    assert exchange(told, get("/" + "x" * 70_000, b"Host: x\r\n" + UPGRADE))[0][0] == 414


def test_connect_is_refused(told: Told) -> None:
    for target in (b"x:1", b"/1"):
        [(status, body)] = exchange(told, b"CONNECT " + target + b" HTTP/1.1\r\nHost: x\r\n\r\n" + get("/2"))
        assert status == 400
        assert "CONNECT" in body["message"]
    assert told.requests == []


def test_trailers_are_no_headers(told: Told) -> None:
    chunked = (
        b"POST /1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n"
        b"X-API-KEY: k\r\nOrigin: o\r\nX-Forwarded-For: f\r\n\r\n"
    )
    found = exchange(told, chunked, get("/2", b"Host: x\r\nConnection: close\r\n"))
    assert found == [(200, ["POST", "/1", 3]), (200, ["GET", "/2", 0])]
    assert [names for _, _, names, _ in told.requests] == [[b"host", b"transfer-encoding"], [b"host", b"connection"]]


def test_trailers_are_limited(told: Told) -> None:
    head = b"POST /1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    found = exchange(told, head, *[b"A: " + b"x" * 8000 + b"\r\n"] * 10, pause=0)
    assert [status for status, _ in found] == [431]
    assert told.requests == []


@pytest.mark.parametrize(
    ("version", "headers", "status"),
    [
        (b"1.1", b"Host: x\r\n", 200),
        (b"1.1", b"hOST:\r\n", 200),
        (b"1.1", b"", 400),
        (b"1.1", b"X-Host: x\r\n", 400),
        (b"1.1", b"Host: x\r\nHost: x\r\n", 400),
        (b"1.1", b"Host: x\r\nA: b\r\nhost: y\r\n", 400),
        (b"1.0", b"", 200),
        (b"1.0", b"Host: x\r\n", 200),
        (b"1.0", b"Host: x\r\nHost: y\r\n", 400),
    ],
)
def test_a_request_names_one_host(told: Told, version: bytes, headers: bytes, status: int) -> None:
    [(found, body)] = exchange(told, b"GET /1 HTTP/" + version + b"\r\n" + headers + b"\r\n")
    assert found == status
    assert status == 200 or "Host" in body["message"]


@pytest.mark.parametrize(
    ("version", "headers", "status"),
    [
        (b"2.0", b"", 505),
        (b"2.0", b"Upgrade: h2c\r\nConnection: upgrade\r\n", 505),
        (b"1.1", b"Transfer-Encoding: gzip, chunked\r\n", 501),
        (b"1.1", b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", 501),
        (b"1.1", b"Transfer-Encoding: identity,, Chunked\r\n", 501),
        (b"1.1", b"Transfer-Encoding: gzip, chunked\r\nUpgrade: x\r\nConnection: upgrade\r\n", 501),
        (b"1.1", b"Transfer-Encoding: chunked, chunked\r\n", 400),
        (b"1.1", b"Transfer-Encoding: chunked, gzip\r\n", 400),
        (b"1.1", b"Transfer-Encoding: gzip\r\n", 400),
        (b"1.1", b"Transfer-Encoding: chunked;x=y\r\n", 400),
        (b"1.1", b"Transfer-Encoding: ,\r\n", 400),
        (b"1.1", b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", 400),
        (b"1.0", b"Transfer-Encoding: chunked\r\n", 400),
        (b"1.1", b"Transfer-Encoding: CHUNKED\r\n", 200),
        (b"1.1", b"Transfer-Encoding:\tchunked \r\n", 200),
    ],
)
def test_only_what_is_spoken_here_is_taken(told: Told, version: bytes, headers: bytes, status: int) -> None:
    """RFC 9112, 2.3, 6.1 and 6.3: a body that a proxy could see end elsewhere is refused, and the connection ends."""
    body = b"3\r\nabc\r\n0\r\n\r\n"
    [(found, message), *others] = exchange(told, b"POST /1 HTTP/%b\r\nHost: x\r\n%b\r\n" % (version, headers) + body)
    assert found == status
    if status != 200:
        assert message.keys() == {"message"}
        assert not others


BROKEN = b"Host: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nno chunk\r\n"


def test_a_broken_body_gets_one_answer(told: Told) -> None:
    """Whether its request is answered already, being answered, waiting for it, or waiting for its turn."""
    assert [status for status, _ in exchange(told, b"POST /unread HTTP/1.1\r\n" + BROKEN)] == [400]
    head, body = BROKEN[: -len(b"no chunk\r\n")], b"no chunk\r\n"
    found = exchange(told, b"POST /unread HTTP/1.1\r\n" + head, body, answered=True)
    assert [status for status, _ in found] == [200]
    assert [status for status, _ in exchange(told, b"POST /1 HTTP/1.1\r\n" + head, body)] == [400]
    assert [status for status, _ in exchange(told, b"POST /1 HTTP/1.1\r\n" + BROKEN + get("/2"))] == [400]
    found = exchange(told, get("/slow") + get("/2") + b"POST /1 HTTP/1.1\r\n" + BROKEN, get("/3"))
    assert [(status, body[1] if status == 200 else None) for status, body in found] == [
        (200, "/slow"),
        (200, "/2"),
        (400, None),
    ]
    assert "/1" not in [path for _, path, _, _ in told.requests]


def test_a_broken_head_is_refused_in_its_turn(told: Told) -> None:
    for broken in (b"no request\r\n\r\n", b"GET /1 HTTP/1.1\r\n\r\n", get("/" + "x" * 70_000)):
        found = exchange(told, get("/slow") + get("/2") + broken, broken)
        assert [status for status, _ in found][:2] == [200, 200]
        assert [status for status, _ in found][2:] in ([400], [414])


@pytest.mark.slow
def test_a_connection_ends_so_long_after_its_last_answer() -> None:
    kept = 2 * KEEP_ALIVE  # so that a busy machine comes back from a pause before that
    with (
        serving(Told(), kept) as told,
        socket.create_connection(("127.0.0.1", told.port), timeout=60) as connection,
    ):
        for _ in range(2):
            connection.sendall(get("/1"))
            assert connection.recv(4096).startswith(b"HTTP/1.1 200")
            time.sleep(kept * 0.55)
        connection.sendall(b"GET /1 HTTP/1.1\r\n")
        time.sleep(kept * 1.2)
        connection.sendall(b"Host: x\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 200"), "it does not end while a request comes in"
        began = time.monotonic()
        assert connection.recv(4096) == b""
        assert kept * 0.9 < time.monotonic() - began < kept * 30


def test_nothing_of_a_connection_that_is_gone_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[weakref.ref[DeliveryProtocol]] = []
    whole = DeliveryProtocol.connection_made

    def connection_made(self: DeliveryProtocol, transport: Any) -> None:
        made.append(weakref.ref(self))
        whole(self, transport)

    monkeypatch.setattr(DeliveryProtocol, "connection_made", connection_made)
    app = Told()
    with serving(app, keep_alive=600):  # longer than is waited: it is not what ends them
        for sent in (get("/1"), get("/slow"), get("/slow") + get("/2"), b"POST /1 HTTP/1.1\r\n" + BROKEN[:-3]):
            connection = socket.create_connection(("127.0.0.1", app.port), timeout=60)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset, not an end
            connection.sendall(sent)
            time.sleep(0.1)
            connection.close()
        eventually(lambda: len(made) == 4)

        def gone() -> bool:
            gc.collect()
            return not any(one() for one in made)

        eventually(gone)


OVERRIDDEN = {
    *("connection_made", "connection_lost", "data_received", "on_message_begin", "on_url", "on_header"),
    *("on_headers_complete", "on_message_complete", "on_response_complete", "send_400_response"),
}
"""Methods of uvicorn's protocol."""
USED = {
    *("app_state", "cycle", "flow", "headers", "loop", "parser", "pipeline", "scope", "server_state", "transport"),
    "_unset_keepalive_if_required",
}
"""Attributes of a connection that uvicorn's protocol sets."""
OF_PARTS = {
    "cycle": {"scope", "disconnected", "message_event", "response_started", "response_complete"},
    "flow": {"pause_reading", "read_paused"},
    "parser": {"feed_data", "get_http_version", "get_method", "should_upgrade"},
    "server_state": {"default_headers"},
}
"""Attributes of theirs."""


def test_the_internals_that_are_used_are_there(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    whole = DeliveryProtocol.connection_made

    def connection_made(self: DeliveryProtocol, transport: Any) -> None:
        made.append(self)
        whole(self, transport)

    monkeypatch.setattr(DeliveryProtocol, "connection_made", connection_made)
    with socket.create_connection(("127.0.0.1", told.port), timeout=60) as connection:
        connection.sendall(get("/1"))
        assert connection.recv(4096).startswith(b"HTTP/1.1 200")
        [protocol] = made
        assert {name for name in USED if not hasattr(protocol, name)} == set()
        for part, names in OF_PARTS.items():
            assert {name for name in names if not hasattr(getattr(protocol, part), name)} == set(), part
    assert set(vars(HttpToolsProtocol)) >= OVERRIDDEN


def test_the_internals_are_those_that_are_used() -> None:
    tree = ast.parse(inspect.getsource(DeliveryProtocol))
    of_self, of_parts = set(), set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(ast.Name("self"), name):
                of_self.add(name)
            case ast.Attribute(ast.Attribute(ast.Name("self"), part), name) if part in OF_PARTS:
                of_parts.add((part, name))
    own = set(vars(DeliveryProtocol)) - OVERRIDDEN | {"url", "reading_since"}
    assert of_self - own - OVERRIDDEN == USED
    assert of_parts <= {(part, name) for part, names in OF_PARTS.items() for name in names}
    assert {
        name for name in vars(DeliveryProtocol) if name in vars(HttpToolsProtocol) and name[:2] != "__"
    } == OVERRIDDEN


def test_the_version_of_uvicorn_is_bounded() -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    [bounds] = [line for line in project["dependencies"] if line.startswith("uvicorn")]
    assert ">=" in bounds
    assert "<" in bounds

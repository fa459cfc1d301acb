"""The end of a server: what is under way is answered, and kept connections learn that they are the last."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from starlette.types import Receive, Scope, Send
from uvicorn import Config

from server.graceful_server import GracefulServer
from server.http.protocol import DeliveryProtocol
from tests.sites.served_site import DEADLINE, eventually

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
LAST = b"connection: close"


async def echo(_scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the length of the body."""
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    body = b"%d bytes" % size
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Served:
    def __init__(self, listener: socket.socket) -> None:
        self.address = listener.getsockname()
        ready = threading.Event()
        config = Config(
            echo,
            http=DeliveryProtocol,
            lifespan="off",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=60,
            timeout_keep_alive=600,  # no connection is closed for being idle while a busy machine stands still
        )
        self.server = GracefulServer(config, ready.set)
        self.thread = threading.Thread(target=self.server.run, args=([listener],))
        self.thread.start()
        assert ready.wait(DEADLINE)

    def connected(self) -> socket.socket:
        return socket.create_connection(self.address, timeout=DEADLINE)

    def accepts(self) -> bool:
        with socket.socket() as asked:
            return asked.connect_ex(self.address) == 0


@pytest.fixture
def served() -> Iterator[Served]:
    one = Served(socket.create_server(("127.0.0.1", 0)))
    try:
        yield one
    finally:
        one.server.should_exit = one.server.force_exit = True
        one.thread.join(DEADLINE)


def one_answer(connection: socket.socket) -> bytes:
    received = b""
    while not received.endswith(b" bytes"):
        more = connection.recv(65536)
        assert more, received
        received += more
    return received.lower()


def everything(connection: socket.socket) -> bytes:
    """All that comes until the connection is closed."""
    received = b""
    while more := connection.recv(65536):
        received += more
    return received.lower()


def test_a_retired_server_answers_on_the_connections_that_it_has(served: Served) -> None:
    used, pipelining, new, slow, idle = (served.connected() for _ in range(5))
    for connection in (used, pipelining, idle):
        connection.sendall(GET)
        assert LAST not in one_answer(connection)
    slow.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345")
    eventually(lambda: len(served.server.server_state.connections) == 5)
    served.server.retire()
    eventually(lambda: not served.accepts())
    used.sendall(GET)
    assert LAST in everything(used)
    new.sendall(GET)
    assert LAST in everything(new)
    pipelining.sendall(GET * 3)
    answers = everything(pipelining)
    assert (answers.count(b"http/1.1 200 ok"), answers.count(LAST)) == (3, 1)
    slow.sendall(b"67890")
    answer = everything(slow)
    assert LAST in answer
    assert answer.endswith(b"10 bytes")
    assert served.thread.is_alive(), "one connection is kept"
    idle.sendall(GET)
    assert LAST in everything(idle)
    served.thread.join(DEADLINE)
    assert not served.thread.is_alive()
    for connection in (used, pipelining, new, slow, idle):
        connection.close()


def test_a_server_that_is_told_to_end_closes_idle_connections_and_waits_for_answers(served: Served) -> None:
    with served.connected() as idle, served.connected() as slow:
        idle.sendall(GET)
        assert LAST not in one_answer(idle)
        slow.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345")
        eventually(lambda: len(served.server.server_state.tasks) == 1)
        served.server.should_exit = True
        assert everything(idle) == b""
        slow.sendall(b"67890")
        assert everything(slow).endswith(b"10 bytes")
        served.thread.join(DEADLINE)
        assert not served.thread.is_alive()

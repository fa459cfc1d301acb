"""When a connection that waits for its next request ends: one timer, however many requests there were."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from server.http.protocol import DeliveryProtocol

SECONDS = 65
VIEW = b"POST /pv/acme HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"


class Loop:
    """Time that passes only when told to, and timers."""

    def __init__(self) -> None:
        self.now = 100.0
        self.timers: list[Any] = []
        self.made = 0

    def time(self) -> float:
        return self.now

    def call_later(self, seconds: float, call: Any) -> Any:
        timer = SimpleNamespace(at=self.now + seconds, call=call)
        timer.cancel = lambda: self.timers.remove(timer)
        self.timers.append(timer)
        self.made += 1
        return timer

    def pass_time(self, seconds: float) -> None:
        end = self.now + seconds
        while due := [timer for timer in self.timers if timer.at <= end]:
            timer = min(due, key=lambda one: one.at)
            self.timers.remove(timer)
            self.now = timer.at
            timer.call()
        self.now = end


class Transport:
    def __init__(self) -> None:
        self.closed = False
        self.written = b""

    def get_extra_info(self, _name: str) -> None:
        return None

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def write(self, data: bytes) -> None:
        self.written += data


class Connection:
    """A connection whose requests are all page views; each is answered when told to."""

    def __init__(self) -> None:
        waiting: list[Any] = []
        recording = SimpleNamespace(
            viewed=lambda target: ("acme", None) if target == b"/pv/acme" else None,
            take=lambda _reported, done, _connections: waiting.append(done),
        )
        app: Any = SimpleNamespace(recording=recording)
        config = Config(
            app, interface="asgi3", http=DeliveryProtocol, ws="none", timeout_keep_alive=SECONDS, log_config=None
        )
        config.loaded_app = app
        config.loaded, config.ws_protocol_class = True, None
        self.loop: Any = Loop()
        self.transport: Any = Transport()
        self.waiting = waiting
        self.protocol = DeliveryProtocol(config, ServerState(), {}, self.loop)
        self.protocol.connection_made(self.transport)

    def ask(self, *, answered: bool = True) -> None:
        self.protocol.data_received(VIEW)
        if answered:
            self.answer()

    def answer(self) -> None:
        self.waiting.pop()()


@pytest.fixture
def connection() -> Connection:
    return Connection()


def test_it_ends_so_long_after_its_last_answer(connection: Connection) -> None:
    for _ in range(50):
        connection.ask()
        connection.loop.pass_time(20)
    assert connection.transport.written.count(b"HTTP/1.1 204") == 50
    assert connection.loop.made < 25, "a timer lasts for several requests"
    connection.loop.pass_time(SECONDS - 21)
    assert not connection.transport.closed
    connection.loop.pass_time(2)
    assert connection.transport.closed


def test_it_does_not_end_while_a_request_comes_in_or_is_answered(connection: Connection) -> None:
    connection.ask()
    connection.protocol.data_received(VIEW[:-1])
    connection.loop.pass_time(2 * SECONDS)
    assert not connection.transport.closed
    connection.protocol.data_received(VIEW[-1:])
    connection.loop.pass_time(2 * SECONDS)
    assert not connection.transport.closed
    connection.answer()
    connection.loop.pass_time(SECONDS - 1)
    assert not connection.transport.closed
    connection.loop.pass_time(2)
    assert connection.transport.closed


def test_nothing_of_a_connection_that_is_gone_is_kept(connection: Connection) -> None:
    connection.ask()
    assert connection.loop.timers
    connection.protocol.connection_lost(ConnectionResetError())
    assert connection.loop.timers == []


def test_a_view_whose_sender_is_gone_is_not_answered(connection: Connection) -> None:
    connection.ask(answered=False)
    connection.protocol.connection_lost(None)
    connection.answer()
    assert connection.transport.written == b""

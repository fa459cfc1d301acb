"""A proxy between a program and a server of this machine: it counts requests, and can be made to stop or to stall."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum

_CHUNK = 1 << 16
_REQUEST = re.compile(rb"(?:GET|HEAD|PUT|POST|DELETE) (\S+) HTTP/1\.1\r\n")


class State(Enum):
    PASSES = "passes"
    REFUSES = "refuses"
    """Connections are closed at once, those there are too."""
    STALLS = "stalls"
    """Connections are taken, and nothing is answered."""


class TcpProxy:
    """Listens on a port of its own and passes on to another one."""

    def __init__(self, to: int) -> None:
        self.to = to
        """The port to which new connections are passed on."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.requests: Counter[str] = Counter()
        """Requests by path, without the query."""
        self.bytes_a_second: float | None = None
        """How much each connection carries in each direction; ``None`` for as much as it can."""
        self._state = State.PASSES
        self._stalled = threading.Event()
        self._stalled.set()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def become(self, state: State) -> None:
        """Pass on, refuse or stall from now on."""
        with self._lock:
            self._state = state
            cut = [] if state is State.PASSES else list(self._open)
        for connection in cut:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.become(State.REFUSES)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._state is State.REFUSES:
                client.close()
                continue
            with self._lock:
                self._open.add(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        if self._state is State.STALLS:
            with suppress(OSError):
                while client.recv(_CHUNK):
                    pass
            self._forget(client)
            return
        try:
            server = socket.create_connection(("127.0.0.1", self.to))
        except OSError:
            self._forget(client)
            return
        with self._lock:
            self._open.add(server)
        threading.Thread(target=self._pass, args=(server, client, False), daemon=True).start()
        self._pass(client, server, True)

    def _pass(self, source: socket.socket, to: socket.socket, counted: bool) -> None:
        with suppress(OSError):
            while data := source.recv(_CHUNK):
                if counted and (asked := _REQUEST.match(data)):
                    with self._lock:
                        self.requests[asked[1].decode().partition("?")[0]] += 1
                if self.bytes_a_second is not None:
                    time.sleep(len(data) / self.bytes_a_second)
                to.sendall(data)
        for end in (source, to):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._forget(source)

    def _forget(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.discard(connection)
        connection.close()


@contextmanager
def tcp_proxy(to: int) -> Iterator[TcpProxy]:
    """Have a proxy to a port of this machine for the block."""
    proxy = TcpProxy(to)
    try:
        yield proxy
    finally:
        proxy.close()

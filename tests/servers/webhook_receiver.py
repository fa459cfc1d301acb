"""A real receiver of webhooks: an HTTPS server whose answers a test chooses, and which keeps what it got."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import trustme

from tests.sites.served_site import eventually


@dataclass(frozen=True)
class Received:
    """One request that arrived whole."""

    path: str
    headers: dict[str, str]
    """By name in lower case."""
    body: bytes
    at: float = field(default_factory=time.time)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """What the receiver does with a request: the answer, after a wait."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    wait: float = 0.0


class Receiver:
    """A running receiver. ``reply`` may be exchanged while it runs."""

    def __init__(self, server: ThreadingHTTPServer, scheme: str, ca: Path) -> None:
        self._server = server
        self.scheme = scheme
        self.ca = ca
        """The authority to trust, for ``SSL_CERT_FILE``."""
        self.received: list[Received] = []
        """Requests, whatever was answered, in the order of their arrival."""
        self.reply: Callable[[Received], Reply] = lambda _: Reply()
        self.stopping = threading.Event()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def url(self, path: str = "/hook", host: str = "localhost") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    def wait_for(self, count: int) -> list[Received]:
        """Wait until so many requests came."""
        eventually(lambda: len(self.received) >= count)
        return self.received


@contextmanager
def receiver(folder: Path, *, tls: bool = True, host: str = "localhost") -> Iterator[Receiver]:
    """Run a receiver on the loopback interface with a certificate for ``host``."""
    authority = trustme.CA()
    ca = folder / "receivers-ca.pem"
    authority.cert_pem.write_to_path(ca)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            got = Received(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            reply = running.reply(got)
            running.received.append(got)
            if reply.wait:
                running.stopping.wait(reply.wait)
            self.send_response(reply.status)
            for name, value in reply.headers:
                self.send_header(name, value)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that the library gives
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # a client that breaks off

    server = Server(("127.0.0.1", 0), Handler)
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(host).configure_cert(context)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    running = Receiver(server, "https" if tls else "http", ca)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield running
    finally:
        running.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()

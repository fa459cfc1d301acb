"""A server between a client and an object store that spoils answers: ``with store_proxy(port, …) as proxy``."""

from __future__ import annotations

import http.client
import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Proxy:
    """What is done to requests and answers, which may be changed at any time, and what has come by."""

    port: int
    upstream: int
    drop: float = 0.0
    """The share of answers to PUT that are lost after the store has carried the request out."""
    headers: Callable[[dict[str, str]], dict[str, str]] = lambda headers: headers
    """Changes the headers of requests."""
    random: random.Random = field(default_factory=lambda: random.Random(20261123))
    requests: list[tuple[str, str]] = field(default_factory=list)
    """Method and path of every request."""
    sent: int = 0
    """Bytes of requests' bodies."""
    received: int = 0
    """Bytes of answers' bodies."""
    dropped: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class Server(ThreadingHTTPServer):
    """The proxy's server, to which it is no error when the client or the store goes away in the middle of a request."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError | http.client.HTTPException):
            super().handle_error(request, client_address)


@contextmanager
def store_proxy(
    upstream: int, *, drop: float = 0.0, headers: Callable[[dict[str, str]], dict[str, str]] = lambda headers: headers
) -> Iterator[Proxy]:
    """Pass requests on to the port ``upstream`` of this machine during the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            asked = proxy.headers({name.lower(): value for name, value in self.headers.items()})
            with proxy.lock:
                proxy.requests.append((self.command, self.path))
                proxy.sent += len(body)
            connection = http.client.HTTPConnection("127.0.0.1", proxy.upstream, timeout=60)
            try:
                connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                for name, value in asked.items():
                    connection.putheader(name, value)
                connection.endheaders(body)
                answer = connection.getresponse()
                data = answer.read()
            finally:
                connection.close()
            with proxy.lock:
                proxy.received += len(data)
                lost = self.command == "PUT" and proxy.random.random() < proxy.drop
                proxy.dropped += lost
            if lost:
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in {"transfer-encoding", "connection", "content-length", "date", "server"}:
                    self.send_header(name, value)
            if self.command == "HEAD":
                self.send_header("Content-Length", answer.getheader("content-length") or "0")
            elif answer.status not in {204, 304}:
                self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = pass_on  # noqa: N815 - the base class calls these

        def log_message(self, *_: object) -> None:
            pass

    server = Server(("127.0.0.1", 0), Handler)
    proxy = Proxy(server.server_port, upstream, drop, headers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

"""A server that gives answers from a list, one a request, and remembers the requests."""

from __future__ import annotations

import json
import select
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any


@dataclass
class ScriptedServer:
    url: str
    left: int = 0
    """How many clients went while an answer hung."""
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """(target, headers with names in lower case) of each request so far."""

    def sent(self, header: str) -> list[str | None]:
        """A header of each request."""
        return [headers.get(header) for _, headers in self.requests]


@dataclass(frozen=True)
class Scripted:
    """An answer: text is sent as it is, anything else as JSON; without a status, the connection is closed instead."""

    body: Any = ""
    headers: dict[str, str] = field(default_factory=dict)
    status: int | None = 200
    stops: str = ""
    """Where it stops: ``hangs`` before it answers, ``hangs inside`` or ``breaks inside`` in the middle of the body, or
    ``trickles``, which sends a byte now and then."""


def page(total: int, offset: int = 0, rows: int = 0, **headers: str) -> Scripted:
    """A page of a list with so many rows."""
    contents = [{"id": f"n{offset + row}", "name": "x"} for row in range(rows)]
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return Scripted({"contents": contents, "totalCount": total, "offset": offset, "limit": 100}, sent)


@contextmanager
def scripted(answers: Sequence[Scripted]) -> Iterator[ScriptedServer]:
    """Serve the answers; the last one is given to all further requests too."""

    ended = Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            server.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            answer = answers[min(len(server.requests), len(answers)) - 1]
            if answer.status is None:
                self.close_connection = True
                return
            if answer.stops == "hangs":
                self._hang()
                return
            body = (answer.body if isinstance(answer.body, str) else json.dumps(answer.body)).encode()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            if answer.status != 304:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if answer.stops:
                self._send_some(body, answer.stops)
            elif answer.status != 304:
                self.wfile.write(body)

        def do_OPTIONS(self) -> None:
            """Let pages of any origin send what they like."""
            self.send_response(204)
            for name in ("Origin", "Headers", "Methods"):
                self.send_header(f"Access-Control-Allow-{name}", "*")
            self.end_headers()

        def _send_some(self, body: bytes, stops: str) -> None:
            self.close_connection = True
            self.wfile.write(body[:1])
            if stops == "hangs inside":
                self._hang()
            elif stops == "trickles":
                with suppress(OSError):
                    while not ended.wait(0.05):
                        self.wfile.write(b" ")

        def _hang(self) -> None:
            """Wait until the client goes, or the server ends."""
            self.close_connection = True
            while not ended.is_set():
                readable, _, _ = select.select([self.connection], [], [], 0.02)
                if readable and not self.connection.recv(1):
                    server.left += 1
                    return

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        server = ScriptedServer(f"http://127.0.0.1:{listening.server_address[1]}")
        thread = Thread(target=listening.serve_forever, args=[0.02])
        thread.start()
        try:
            yield server
        finally:
            ended.set()
            listening.shutdown()
            thread.join()

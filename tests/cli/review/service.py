"""A server that keeps the comments of one pull request as GitHub's and GitLab's APIs are documented to."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


class Service:
    """The comments of one pull request; ``refuses`` is the status of every answer where it is one.

    Requests whose path does not begin with ``moved`` are sent on to the path that does.
    """

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.refuses: int | None = None
        self.moved = ""
        self.asked: list[tuple[str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""

    def answer(self, method: str, target: str, body: bytes) -> tuple[int, Any]:
        parts = urlsplit(target)
        self.asked.append((method, parts.path))
        if self.refuses is not None:
            return self.refuses, {"message": "Resource not accessible by integration"}
        if method == "GET":
            query = parse_qs(parts.query)
            size, page = int(query["per_page"][0]), int(query["page"][0])
            return 200, self.comments[(page - 1) * size : page * size]
        text = json.loads(body)["body"]
        if method == "POST":
            self.comments.append({"id": 1_000 + len(self.comments), "body": text})
            return 201, self.comments[-1]
        [comment] = [one for one in self.comments if str(one["id"]) == parts.path.rpartition("/")[2]]
        comment["body"] = text
        return 200, comment


@contextmanager
def running() -> Iterator[Service]:
    service = Service()

    class Handler(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline(65537)
            if not self.raw_requestline or not self.parse_request():
                self.close_connection = True
                return
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            service.headers.append(dict(self.headers))
            if not self.path.startswith(service.moved):
                self.send_response(307)
                self.send_header("Location", service.moved + self.path)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            status, document = service.answer(self.command, self.path, body)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(document).encode())
            self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        service.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=[0.02])
        thread.start()
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()

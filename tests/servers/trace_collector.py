"""A collector of traces: what it took, decoded by OpenTelemetry's own description of the format; and Rotel, a real one,
which takes them in front of it and passes them on."""

from __future__ import annotations

import gzip
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.servers.ports import free_port
from tests.sites.served_site import eventually

needs_rotel = pytest.mark.skipif(find_spec("rotel") is None, reason="rotel is not installed")


@dataclass(frozen=True)
class Collected:
    """One span that was taken."""

    name: str
    kind: str
    trace_id: str
    span_id: str
    parent_id: str
    """Empty for the first of a trace."""
    begun: int
    """UTC nanoseconds."""
    ended: int
    failed: bool
    attributes: dict[str, Any]
    resource: dict[str, Any]


class Collector:
    """A running collector. It refuses what comes while ``refuses`` is set."""

    def __init__(self) -> None:
        self.spans: list[Collected] = []
        self.refuses = threading.Event()
        self.paths: set[str] = set()
        self.headers: dict[str, str] = {}
        """Of the last request, by name in lower case."""

    def of_kind(self, kind: str) -> list[Collected]:
        return [span for span in self.spans if span.kind == kind]

    def take(self, body: bytes) -> None:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
        from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

        request = ExportTraceServiceRequest()
        request.ParseFromString(body)
        for resource in request.resource_spans:
            whose = _attributes(resource.resource.attributes)
            for one in (span for scope in resource.scope_spans for span in scope.spans):
                self.spans.append(
                    Collected(
                        one.name,
                        Span.SpanKind.Name(one.kind).removeprefix("SPAN_KIND_").lower(),
                        one.trace_id.hex(),
                        one.span_id.hex(),
                        one.parent_span_id.hex(),
                        one.start_time_unix_nano,
                        one.end_time_unix_nano,
                        one.status.code == Status.STATUS_CODE_ERROR,
                        _attributes(one.attributes),
                        whose,
                    )
                )


def _attributes(found: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in found}


@contextmanager
def collecting(*, decodes: bool = True) -> Iterator[tuple[Collector, str]]:
    """A collector, and its address. Where what costs time is measured, it takes everything and ``decodes`` nothing."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers["Content-Encoding"] == "gzip":
                body = gzip.decompress(body)
            collector.paths.add(self.path)
            collector.headers = {name.lower(): value for name, value in self.headers.items()}
            refused = collector.refuses.is_set()
            if decodes and not refused:
                collector.take(body)
            self.send_response(400 if refused else 200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield collector, f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def rotel_before(address: str, log: Path) -> Iterator[str]:
    """Rotel, which passes on to the collector at ``address`` what it takes; its own address."""
    import rotel

    program = Path(rotel.__file__).with_name("rotel-agent")
    port = free_port()
    command = [
        *(program, "start", "--exporter", "otlp", "--otlp-exporter-endpoint", address),
        *("--otlp-exporter-protocol", "http", "--disable-batching"),
        *("--otlp-http-endpoint", f"127.0.0.1:{port}", "--otlp-grpc-endpoint", f"127.0.0.1:{free_port()}"),
    ]
    with log.open("w") as told, subprocess.Popen(command, stdout=told, stderr=told) as process:
        try:
            eventually(lambda: process.poll() is None and _answers(port))
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def _answers(port: int) -> bool:
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
    except urllib.error.HTTPError as answer:
        answer.close()
    except OSError:
        return False
    return True

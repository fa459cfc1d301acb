"""Sending recorded spans to a collector, by OpenTelemetry's SDK and its exporter (OTLP over HTTP). Used by the keeper,
where traces are on: the libraries are an extra.

``OTEL_EXPORTER_OTLP_HEADERS``, ``OTEL_SERVICE_NAME``, ``OTEL_RESOURCE_ATTRIBUTES`` and the other variables of the
exporter and of resources hold here as in other programs.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from server.logs import LOGGER
from server.route_names import OTHER, route_of
from server.states.states import States
from server.states.table import TRACES
from server.tracing.spans import SERVER, Span, SpanFiles
from snapshots.store.store import Store
from snapshots.version import VERSION, commit

LOOK_SECONDS: Final = 0.5
"""Seconds between two looks for spans."""
LAST_SECONDS: Final = 2.0
"""Seconds for sending what is left when the server ends."""
WORK: Final = "make the answer"
"""The name of the spans for the time that a thread takes."""

_log = logging.getLogger(LOGGER)


def export_spans(store: Store, address: str, states: States, stopping: threading.Event) -> None:
    """Send what the processes of this machine record to the collector at ``address``, a URL, until ``stopping`` is set.

    What a collector does not take is dropped; ``states`` and the log say when that begins and when it ends.
    """
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # it would tell each failure, with a traceback
    files = SpanFiles(store)
    exporter = OTLPSpanExporter(endpoint=address)
    done = threading.Event()

    def end() -> None:
        stopping.wait()
        done.wait(LAST_SECONDS)
        # Which breaks off what it tries again by itself, with growing pauses.
        exporter.shutdown()  # type: ignore[no-untyped-call]

    threading.Thread(target=end, name="traces", daemon=True).start()
    readable = _readable_by(_resource())
    is_refused = False
    while True:
        is_last = stopping.is_set()
        spans = files.take()
        if not spans:
            if is_last:
                break
            stopping.wait(LOOK_SECONDS)
            continue
        taken = exporter.export([one for span in spans for one in readable(span)])
        was_refused, is_refused = is_refused, taken is not SpanExportResult.SUCCESS and not stopping.is_set()
        states.set(TRACES, wrong=is_refused)
        if is_refused and not was_refused:
            _log.warning("the collector of traces does not take them; until it does, they are dropped")
        elif was_refused and not is_refused:
            _log.info("the collector of traces takes them again")
    done.set()


def _resource() -> Resource:
    own: dict[str, str] = {
        "service.version": VERSION,
        "service.instance.id": f"{socket.gethostname()}:{os.getppid()}",
        "parquetry.commit": commit(),
    }
    if "OTEL_SERVICE_NAME" not in os.environ:
        own["service.name"] = "parquetry"
    return Resource.create(own)


def _readable_by(resource: Resource) -> Callable[[Span], Iterator[ReadableSpan]]:
    """Return what turns a span into what the SDK has for it, and for the time of threads as its children."""
    sampled = TraceFlags(TraceFlags.SAMPLED)
    scope = InstrumentationScope("parquetry", VERSION)
    unset = Status(StatusCode.UNSET)

    def readable(span: Span) -> Iterator[ReadableSpan]:
        trace_id = int(span.trace_id, 16)
        own = SpanContext(trace_id, int(span.span_id, 16), is_remote=False, trace_flags=sampled)
        yield ReadableSpan(
            _name(span),
            own,
            None
            if span.parent_id is None
            else SpanContext(trace_id, int(span.parent_id, 16), is_remote=True, trace_flags=sampled),
            resource,
            _attributes(span),
            kind=SpanKind.SERVER if span.kind == SERVER else SpanKind.CLIENT,
            status=unset if span.failure is None else Status(StatusCode.ERROR, span.failure),
            start_time=span.begun,
            end_time=span.ended,
            instrumentation_scope=scope,
        )
        for work in span.work:
            yield ReadableSpan(
                WORK,
                SpanContext(trace_id, secrets.randbits(64) or 1, is_remote=False, trace_flags=sampled),
                own,
                resource,
                kind=SpanKind.INTERNAL,
                start_time=work.begun,
                end_time=work.ended,
                instrumentation_scope=scope,
            )

    return readable


def _route(span: Span) -> str | None:
    route = OTHER if span.path is None else route_of(span.path)
    return None if route == OTHER else route


def _name(span: Span) -> str:
    route = _route(span)
    return span.method if route is None else f"{span.method} {route}"


def _attributes(span: Span) -> dict[str, str | int]:
    """What a span tells, by the names of OpenTelemetry's conventions where they have one."""
    told = {
        "http.request.method": span.method,
        "http.response.status_code": span.status or None,
        "http.response.body.size": span.size,
        "http.route": _route(span),
        "url.path": span.path,
        "url.scheme": "http" if span.kind == SERVER else None,
        "server.address": span.host,
        "server.port": span.port,
        "parquetry.workspace": span.workspace,
        "parquetry.key": span.key,
        "parquetry.request": span.request,
        "parquetry.snapshot": span.snapshot,
        "parquetry.answer": span.answer,
    }
    return {name: value for name, value in told.items() if value is not None}

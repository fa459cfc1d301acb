"""Requests of webhooks in traces: each begins one, which the receiver can join by ``traceparent``."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

from msgspec.structs import replace

from engine.webhooks.post import Post, PostResult
from server.tracing.spans import CLIENT, Span, SpanFiles
from server.tracing.trace_context import HEADER, begun

Send: TypeAlias = Callable[[Post, int], PostResult]


def traced(send: Send, files: SpanFiles, workspace: str) -> Send:
    """Return what sends as ``send`` does, with a header that names a trace, and records the request in ``files``.

    They are few, so each is recorded: a receiver that records what others do would record none otherwise.
    """

    def sent(request: Post, now: int) -> PostResult:
        trace = begun()
        began = time.time_ns()
        result: PostResult | None = None
        try:
            named = {**request.headers, HEADER.decode("ascii"): trace.traceparent.decode("ascii")}
            result = send(replace(request, headers=named), now)
        finally:
            span = Span(
                kind=CLIENT,
                trace_id=trace.trace_id,
                span_id=trace.span_id,
                parent_id=None,
                begun=began,
                ended=time.time_ns(),
                method="POST",
                status=None if result is None else result.status,
                failure="broken off" if result is None else result.refusal,
                workspace=workspace,
                host=request.target.host,
                port=request.target.port,
            )
            files.write([span])
        return result

    return sent

"""Recording requests in a process that answers: which, and what of them. Used on the event loop.

A request that begins a trace is recorded by chance, one that comes with ``traceparent`` where the one who asked records
it. Neither keys nor what follows the ``?`` of an address is recorded, nor anything of a visitor.
"""

from __future__ import annotations

import asyncio
import random
import time
from typing import Final

from starlette.types import Scope

from server.tracing.spans import MOST_SPANS, SERVER, Span, SpanFiles
from server.tracing.trace_context import CURRENT, Trace, begun, continued

WRITE_SECONDS: Final = 0.5
"""Seconds from the first span of a file to the file."""
UNRECORDED: Final = frozenset({b"/healthz", b"/readyz"})
"""Paths that machines ask for all the time."""


class Tracing:
    """The traces of one process."""

    def __init__(self, files: SpanFiles | None = None, share: float = 0.0) -> None:
        """Record a ``share`` of the requests that begin a trace, from 0 to 1, in ``files``; nothing at all without."""
        self.is_on: Final = files is not None
        """Whether anything is recorded."""
        self._files = files
        self._share = share
        self._waiting: list[Span] = []
        self._writing: asyncio.Future[None] | None = None

    def begin(self, scope: Scope, given: bytes | None) -> Trace | None:
        """Return the place in a trace of a request that has just come in, with the header ``given``; ``None`` for
        none."""
        trace: Trace | None = None
        if given is not None:
            trace = continued(given, records=self.is_on and scope["raw_path"] not in UNRECORDED)
        # The chance comes first: most requests pay for nothing else.
        if trace is None and random.random() < self._share and scope["raw_path"] not in UNRECORDED:  # noqa: S311
            trace = begun()
        if trace is not None and trace.is_recorded:
            CURRENT.set(trace)
        return trace

    def answered(self, source: str) -> None:
        """Note the source of the answer to the request that is being answered, as ``Metrics.answer`` names sources. May
        be called in the thread that makes it."""
        trace = CURRENT.get()
        if trace is not None:
            trace.source = source

    def end(
        self,
        trace: Trace,
        method: str,
        target: str,
        status: int,
        seconds: float,
        size: int,
        workspace: str | None,
        key_prefix: str | None,
        request_id: str,
        snapshot: str | None,
    ) -> None:
        """Record a request, where it is to be: as the access log tells it, with the version that answered."""
        if self._files is None or not trace.is_recorded or len(self._waiting) >= MOST_SPANS:
            return
        ended = time.time_ns()
        self._waiting.append(
            Span(
                kind=SERVER,
                trace_id=trace.trace_id,
                span_id=trace.span_id,
                parent_id=trace.parent_id,
                begun=ended - int(seconds * 1e9),
                ended=ended,
                method=method,
                status=status,
                failure=None if 0 < status < 500 else f"answered {status}" if status else "cut off",
                workspace=workspace,
                path=target.partition("?")[0],
                size=size,
                request=request_id,
                key=key_prefix,
                snapshot=snapshot,
                answer=trace.source,
                work=trace.work,
            )
        )
        if self._writing is None:
            self._writing = asyncio.ensure_future(self._write(self._files))

    async def close(self) -> None:
        """Write what is left."""
        if self._writing is not None:
            self._writing.cancel()
        if self._waiting and self._files is not None:
            self._files.write(self._waiting)
            self._waiting = []

    async def _write(self, files: SpanFiles) -> None:
        try:
            await asyncio.sleep(WRITE_SECONDS)
            spans, self._waiting = self._waiting, []
            await asyncio.get_running_loop().run_in_executor(None, files.write, spans)
        finally:
            self._writing = None

"""The outcomes of requests: one line of the access log, one count of the metrics and, in a trace, one span for each."""

from __future__ import annotations

from typing import Protocol

from server.http.access_log import AccessLog
from server.http.exchange import Exchange
from server.tracing.recording import Tracing


class RequestMetrics(Protocol):
    """The part of ``server.metrics.Metrics`` that counts requests and answers."""

    def request(self, target: str, status: int, seconds: float) -> None: ...

    def answer(self, source: str) -> None: ...


class Outcomes:
    """The access log, the metrics and the traces, told of every request but page views, which their counts tell."""

    def __init__(
        self,
        access_log: AccessLog,
        metrics: RequestMetrics | None = None,
        tracing: Tracing | None = None,
    ) -> None:
        self._access_log = access_log
        self._metrics = metrics
        self.tracing = tracing or Tracing()
        """Records what is in a trace."""

    def record(self, exchange: Exchange, method: str, target: str, status: int, seconds: float, size: int) -> None:
        """Note one request, with its path and query from ``logged_target``, the ``seconds`` it took, and the bytes of
        the answer's body. To be called on the event loop."""
        self._access_log.record(exchange, method, target, status, seconds * 1000, size)
        if self._metrics is not None:
            self._metrics.request(target, status, seconds)
        trace = exchange.trace
        if trace is not None and trace.is_recorded:
            self.tracing.end(
                trace,
                method,
                target,
                status,
                seconds,
                size,
                exchange.workspace,
                exchange.key_prefix,
                exchange.request_id.decode("ascii"),
                exchange.snapshot,
            )

    def answered(self, source: str) -> None:
        """Note the source of the answer to a read, as ``Metrics.answer`` names sources."""
        if self._metrics is not None:
            self._metrics.answer(source)
        if self.tracing.is_on:
            self.tracing.answered(source)

"""The outcomes of requests: one line of the access log and one count of the metrics for each."""

from __future__ import annotations

from typing import Protocol

from server.http.access_log import AccessLog


class RequestMetrics(Protocol):
    """The part of ``server.metrics.Metrics`` that counts requests and answers."""

    def request(self, target: str, status: int, seconds: float) -> None: ...

    def answer(self, source: str) -> None: ...


class Outcomes:
    """The access log and the metrics, told of every request but page views, which are told by their counts."""

    def __init__(self, access_log: AccessLog, metrics: RequestMetrics | None = None) -> None:
        self._access_log = access_log
        self._metrics = metrics

    def record(
        self,
        method: str,
        target: str,
        status: int,
        seconds: float,
        size: int,
        workspace: str | None,
        key_prefix: str | None,
        request_id: str,
    ) -> None:
        """Note one request, with its path and query from ``logged_target``, the ``seconds`` it took, and the bytes of
        the answer's body. To be called on the event loop."""
        self._access_log.record(method, target, status, seconds * 1000, size, workspace, key_prefix, request_id)
        if self._metrics is not None:
            self._metrics.request(target, status, seconds)

    def answered(self, source: str) -> None:
        """Note the source of the answer to a read, as ``Metrics.answer`` names sources."""
        if self._metrics is not None:
            self._metrics.answer(source)

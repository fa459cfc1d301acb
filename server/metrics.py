"""The metrics of a process (Prometheus): requests, times, cached answers, and the versions it serves.

Every process writes its numbers into files of a directory that they share, from which ``server/metrics_address.py``
adds them up: the client library's own way of counting over several processes. Without that address nothing is counted.
"""

from __future__ import annotations

import asyncio
import os
import resource
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from server.route_names import route_of
from server.views.collection import ViewCollection
from server.workspaces.workspaces import Workspaces

if TYPE_CHECKING:
    from prometheus_client import Counter, Histogram

Mode: TypeAlias = Literal["livemin", "livemax", "liveall"]
"""The way in which the processes' values of a gauge become one: the least, the greatest, or all of them."""
DIRECTORY: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that names the shared directory; the library reads it when it is imported."""
KEEP_SECONDS: Final = 1.0
"""Seconds between two settings of the gauges."""

_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """The metrics of one process. Used on the event loop."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram  # noqa: PLC0415 - reads DIRECTORY

        registry = CollectorRegistry()  # not the library's own, so that one process may have several servers

        def gauge(name: str, meaning: str, labels: Iterable[str], mode: Mode) -> Gauge:
            return Gauge(f"parquetry_{name}", meaning, labels, registry=registry, multiprocess_mode=mode)

        self._requests = Counter(
            "parquetry_requests",
            "Requests answered, except recorded page views.",
            ("route", "status"),
            registry=registry,
        )
        self._seconds = Histogram(
            "parquetry_request_seconds",
            "From the end of a request's headers to the last byte of its answer.",
            ("route",),
            buckets=_SECONDS,
            registry=registry,
        )
        self._queries = Histogram(
            "parquetry_query_seconds",
            "The time to make an answer, without the wait for a thread.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._answers = Counter(
            "parquetry_answers", "Answers to reads of content: kept, shared or made.", ("source",), registry=registry
        )
        self._served = gauge(
            "snapshot_built_timestamp_seconds", "When the snapshot version served was built.", ("workspace",), "livemin"
        )
        self._since = gauge(
            "snapshot_served_since_timestamp_seconds", "When it began to be served.", ("workspace",), "livemax"
        )
        self._refused = gauge(
            "snapshot_refused", "1 while the current snapshot version cannot be served.", ("workspace",), "livemax"
        )
        self._counts = gauge(
            "view_counts_timestamp_seconds", "When the view counts in use were read.", ("workspace",), "livemin"
        )
        self._dropped = Counter("parquetry_views_dropped", "Page views that could not be kept.", registry=registry)
        self._dropped_told = 0
        self._webhooks = Counter(
            "parquetry_webhook_tries", "Attempts to send an event to a webhook.", ("outcome",), registry=registry
        )
        self._webhooks_waiting = gauge(
            "webhooks_waiting", "Webhooks with an event that has not been accepted yet.", ("workspace",), "livemax"
        )
        self._webhooks_oldest = gauge(
            "webhook_oldest_seconds", "For how long the oldest of them has waited.", ("workspace",), "livemax"
        )
        self._memory = gauge("resident_bytes", "Memory of the process.", (), "liveall")
        self._by_outcome: dict[tuple[str, int], Counter] = {}
        self._by_route: dict[str, Histogram] = {}
        self._by_source = {source: self._answers.labels(source) for source in ("kept", "shared", "made")}

    def request(self, target: str, status: int, seconds: float) -> None:
        """Count one request to a path and query, and the ``seconds`` it took."""
        route = route_of(target)
        counter = self._by_outcome.get((route, status))
        if counter is None:
            counter = self._by_outcome[route, status] = self._requests.labels(route, str(status))
            self._by_route.setdefault(route, self._seconds.labels(route))
        counter.inc()
        self._by_route[route].observe(seconds)

    def answer(self, source: str) -> None:
        """Count one answer to a read: ``kept`` from before, ``shared`` with one that is being made, or ``made``."""
        self._by_source[source].inc()

    def query(self, seconds: float) -> None:
        """Note the ``seconds`` that an answer took to make. May be called in any thread."""
        self._queries.observe(seconds)

    def webhook(self, outcome: str) -> None:
        """Count one try to tell a webhook: ``accepted`` or ``failed``. May be called in any thread."""
        self._webhooks.labels(outcome).inc()

    def webhooks_waiting(self, workspace: str, count: int, oldest: float) -> None:
        """Note how many webhooks of a workspace wait for another try, and for how many seconds the oldest has."""
        self._webhooks_waiting.labels(workspace).set(count)
        self._webhooks_oldest.labels(workspace).set(oldest)

    async def keep(self, workspaces: Workspaces, views: ViewCollection) -> None:
        """Set the gauges now and every second, until cancelled."""
        while True:
            with suppress(OSError):
                self.refresh(workspaces, views)
            await asyncio.sleep(KEEP_SECONDS)

    def refresh(self, workspaces: Workspaces, views: ViewCollection) -> None:
        """Set the gauges to the present values, and count the page views dropped since the last look."""
        for workspace in workspaces.all():
            served = workspace.snapshots.served
            if served is not None:
                self._served.labels(workspace.id).set(served.reader.manifest.created_at / 1000)
                self._since.labels(workspace.id).set(served.since / 1000)
            self._refused.labels(workspace.id).set(workspace.snapshots.refusal is not None)
            counts_at = views.of_workspace(workspace.id).counts_at
            if counts_at is not None:
                self._counts.labels(workspace.id).set(counts_at / 1000)
        dropped = views.dropped_here
        self._dropped.inc(dropped - self._dropped_told)
        self._dropped_told = dropped
        self.note_memory()

    def note_memory(self) -> None:
        """Note the memory that this process takes."""
        self._memory.set(_resident_bytes())


def _resident_bytes() -> int:
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - twice as fast, and it is read every second
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # not on Linux
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

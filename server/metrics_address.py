"""The address at which Prometheus finds the metrics of all processes, and those that are read off the store."""

from __future__ import annotations

import math
import os
import platform
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from engine.views.collecting.spool import VIEWS
from server.background.presence import keeper_lock
from server.background.views.spools import waiting_views
from server.metrics import DIRECTORY
from server.mirror.freshness import Freshness
from server.processes.living import is_alive
from server.states.clock_watch import steady_ms
from server.states.pages import MachineStates
from server.states.rules import METRIC
from server.states.states import MACHINE, States
from server.states.table import TABLE
from snapshots.problems import ParquetryError
from snapshots.store.current import Current
from snapshots.store.store import Store
from snapshots.version import VERSION, commit

if TYPE_CHECKING:
    from prometheus_client import Metric
    from prometheus_client.core import GaugeMetricFamily


TROUBLE_MEANING: Final = "For how long something has not been as it should be; 0 while it is."
_TRIES: Final = 100
_PAUSE_SECONDS: Final = 0.01


class MetricsAddressTaken(ParquetryError):
    """The metrics address cannot be listened on."""


class MetricsAddress:
    """A place at which Prometheus can ask, once ``begin`` was called."""

    def __init__(self, server: WSGIServer, host: str) -> None:
        self.listener: Final = server.socket
        self.address: Final = f"{host}:{server.server_port}"
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
        self._changing = threading.Lock()
        self._has_ended = False

    def begin(self) -> None:
        """Answer, in a thread."""
        with self._changing:
            if not self._has_ended:
                self._thread.start()

    def end(self) -> None:
        """Answer no more."""
        with self._changing:
            if self._thread.is_alive() and not self._has_ended:
                self._server.shutdown()
                self._thread.join()
            self._has_ended = True


@contextmanager
def metrics_served(
    address: str,
    store: Store,
    states: States,
    freshness: Freshness | None = None,
    listener: socket.socket | None = None,
) -> Iterator[MetricsAddress]:
    """Listen at ``http://<address>/metrics`` while the block runs.

    ``states`` are what this process knows to be wrong; ``freshness`` is that of a store in a bucket, ``None`` for a
    directory; ``listener`` is the socket where there is one already.

    To be entered before any process begins to count: it tells them, through the environment, where. Raises
    ``MetricsAddressTaken``.
    """
    with tempfile.TemporaryDirectory(prefix="parquetry-metrics-") as directory:
        before = os.environ.get(DIRECTORY)
        os.environ[DIRECTORY] = directory
        try:
            from prometheus_client import CollectorRegistry, core, make_wsgi_app, multiprocess  # noqa: PLC0415 - reads DIRECTORY

            registry = CollectorRegistry()
            whole = multiprocess.MultiProcessCollector(None, directory)  # type: ignore[no-untyped-call]  # the library has no types here
            registry.register(_Living(directory, whole.collect, multiprocess.mark_process_dead))
            registry.register(_Stored(store, states, freshness, core.GaugeMetricFamily))
            with _listening(address, listener) as server:
                server.set_app(make_wsgi_app(registry))
                metrics = MetricsAddress(server, address.rpartition(":")[0])
                try:
                    yield metrics
                finally:
                    metrics.end()
        finally:
            if before is None:
                os.environ.pop(DIRECTORY, None)
            else:
                os.environ[DIRECTORY] = before


def _listening(address: str, listener: socket.socket | None) -> WSGIServer:
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    server = _Server((host, int(port)), _Unlogged, bind_and_activate=False)
    try:
        listener = listener or socket.create_server(
            (host, int(port)), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
    except (OSError, OverflowError) as error:
        server.server_close()
        raise MetricsAddressTaken(
            f"Cannot serve metrics on {address}: {error}. Choose another address with CMS_METRICS."
        ) from None
    server.socket.close()
    server.socket = listener
    listener.setblocking(False)  # of several processes that are woken by a connection, one gets it
    server.server_address = listener.getsockname()
    server.server_name, server.server_port = host, server.server_address[1]
    server.setup_environ()
    return server


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Unlogged(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        """Log nothing."""


class _Living:
    """The metrics of all processes, without the gauges of processes that have ended."""

    def __init__(
        self, directory: str, collect: Callable[[], Iterator[Metric]], mark_dead: Callable[[int, str], object]
    ) -> None:
        self._directory = directory
        self._collect = collect
        self._mark_dead = mark_dead

    def collect(self) -> Iterator[Metric]:
        for file in Path(self._directory).glob("gauge_live*_*.db"):
            pid = int(file.stem.rpartition("_")[2])
            if not is_alive(pid):
                with suppress(FileNotFoundError):  # somebody else asks at the same time
                    self._mark_dead(pid, self._directory)
        for _ in range(_TRIES):
            try:
                return self._collect()
            except struct.error:  # a process has created its file and is about to fill it
                time.sleep(_PAUSE_SECONDS)
        return self._collect()


class _Stored:
    """Metrics that are read off the program and the store's files at the time of asking."""

    def __init__(
        self, store: Store, states: States, freshness: Freshness | None, gauge: type[GaugeMetricFamily]
    ) -> None:
        self._store = store
        self._states = MachineStates(store, states, steady_ms)
        self._workspaces: set[str] = set()
        """All that were seen: what is told of one does not end where it cannot be looked at."""
        self._current: dict[str, Current] = {}
        """The last that could be read, by workspace."""
        self._keeper = keeper_lock(store)
        self._freshness = freshness
        self._gauge = gauge

    def collect(self) -> Iterator[Metric]:
        program = self._gauge(
            "parquetry_build_info",
            "1, with the version and commit of the program, and the version of Python.",
            labels=("version", "commit", "python"),
        )
        program.add_metric((VERSION, commit(), platform.python_version()), 1)
        current = self._gauge(
            "parquetry_current_version", "1 for the snapshot version that is current.", labels=("workspace", "version")
        )
        activated = self._gauge(
            "parquetry_current_activated_timestamp_seconds", "When it became current.", labels=("workspace",)
        )
        spooled = self._gauge(
            "parquetry_view_spool_bytes",
            "Page views on their way into counts and the analysts' file.",
            labels=("workspace",),
        )
        waiting = self._gauge(
            "parquetry_view_spool_oldest_seconds", "For how long the oldest of them has waited.", labels=("workspace",)
        )
        readable = self._gauge("parquetry_store_readable", "0 while the store cannot be read.")
        keeper = self._gauge("parquetry_keeper_running", "1 while this machine has a keeper.")
        with suppress(OSError):
            keeper.add_metric((), not self._keeper.is_free())
        try:
            names = self._store.workspaces()
            readable.add_metric((), 1)
        except (ParquetryError, OSError):
            names = []
            readable.add_metric((), 0)
        self._workspaces.update(names)
        for name in sorted(self._workspaces):
            workspace_store = self._store.workspace(name)
            with suppress(ParquetryError, OSError):
                read = workspace_store.current()
                if read is not None:
                    self._current[name] = read
            found = self._current.get(name)
            if found is not None:
                current.add_metric((name, found.version), 1)
                activated.add_metric((name,), found.activated_at / 1000)
            size, age = waiting_views(workspace_store.directory / VIEWS)
            spooled.add_metric((name,), size)
            waiting.add_metric((name,), age)
        yield from (program, current, activated, spooled, waiting, readable, keeper, self._troubles())
        if self._freshness is not None:
            contact = self._gauge("parquetry_store_contact_age_seconds", "Since the store, a bucket, last answered.")
            seconds = self._freshness.age()
            contact.add_metric((), math.inf if seconds is None else seconds)
            yield contact
            behind = self._gauge(
                "parquetry_behind_since_timestamp_seconds",
                "Since when something of a workspace is older than in the store, a bucket, or cannot be sent to it.",
                labels=("workspace", "what"),
            )
            for name in sorted({*names, *self._freshness.contact().behind}):
                for what, since in self._freshness.behind(name).items():
                    behind.add_metric((name, what), since / 1000)
            yield behind

    def _troubles(self) -> Metric:
        """The one metric of all rows: it is there while all is well, too, so that an alert never lacks it."""
        family = self._gauge(METRIC, TROUBLE_MEANING, labels=("what", "workspace"))
        now = steady_ms()
        lasting = {(one.what, one.workspace): one.seconds(now) for one in self._states.troubles()}
        workspaces = self._workspaces | {workspace for _, workspace in lasting if workspace}
        for row in TABLE:
            for workspace in sorted(workspaces) if row.of == "workspace" else (MACHINE,):
                family.add_metric((row.what, workspace), lasting.get((row.what, workspace), 0))
        return family

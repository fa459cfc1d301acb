"""Run the server: a listening socket and one or more processes, until a signal ends them."""

from __future__ import annotations

import gc
import logging
import logging.config
import math
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from types import FrameType
from typing import Any

from starlette.applications import Starlette
from starlette.types import ASGIApp
from uvicorn import Config

from engine.views.collecting.visitors import Visitors
from server.app import create_app
from server.background.supervision import kept
from server.graceful_server import GracefulServer
from server.http.protocol import DeliveryProtocol
from server.logs import LOGGER, STARTING, log_config
from server.lookout import looked_out
from server.main_process.course import KEEPER, WORKERS, Course
from server.main_process.handed_sockets import HTTP, METRICS
from server.main_process.link import MainLink
from server.metrics_address import metrics_served
from server.mirror.freshness import Freshness
from server.serving_note import ServingNote
from server.settings import Settings, describe
from server.workers import ServerWorkers, WorkerFailed, note_hangup
from snapshots.problems import ParquetryError
from snapshots.store.buckets.bucket_url import is_bucket
from snapshots.store.durable import keep_from_others
from snapshots.times import now_ms

BACKLOG = 2048
KEEP_ALIVE_SECONDS = 65
"""Longer than the 60 s after which load balancers give up idle connections, so that they close them first."""
SWITCH_SECONDS = 0.0005
"""Seconds that the event loop waits at most for another thread that computes; Python's own 5 ms are several answers."""

_log = logging.getLogger(LOGGER)


class ServerError(ParquetryError):
    """The server cannot listen, or its workers do not start."""


def run_server(
    settings: Settings,
    *,
    link: MainLink | None = None,
    on_listening: Callable[[str], None] | None = None,
    around: Callable[[Starlette], ASGIApp] | None = None,
    on_ending: Callable[[], None] | None = None,
    log_level: str = "INFO",
    log_start: bool = True,
    listening_at: socket.socket | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT; requests under way then get ``settings.shutdown_seconds`` to finish.

    ``link`` is the link to the main process that started this one, which tells it when another one has taken over.
    Without one, SIGHUP ends a server with something ``around`` its application, which belongs to a terminal, and
    changes nothing else. ``on_listening`` is called with the base address, such as ``http://127.0.0.1:8787``, once
    connections are accepted. Without ``log_start`` the log does not tell how the server starts. ``around`` puts
    something around the application, where it is served by this process alone; ``on_ending`` is called there when the
    server begins to end, before requests under way are waited for. ``listening_at`` is a socket of ``listening``, for
    who has to know the address before the server starts. To be called on the main thread. Raises ``ServerError``, or
    ``StoreError`` for an unusable store.
    """
    keep_from_others()
    gc.enable()  # a command that imports much and ends soon does without
    log = log_config(settings.log_format, log_level, with_start=log_start)
    logging.config.dictConfig(log)
    _allow_open_files()
    store = settings.open_store()
    freshness = Freshness(store, settings.max_stale, now_ms) if is_bucket(settings.store) else None
    held = {} if link is None else link.sockets
    with ExitStack() as running:
        states = running.enter_context(looked_out(store, freshness))
        listener = listening_at or running.enter_context(
            taken(held[HTTP]) if HTTP in held else listening(settings.host, settings.port)
        )
        metrics = None
        if settings.metrics is not None:
            served = metrics_served(settings.metrics, store, states, freshness, held.get(METRICS))
            metrics = running.enter_context(served)
        course = Course(link, metrics, states)
        keeper = running.enter_context(kept(settings, log, states, partial(course.is_done, KEEPER)))
        address = address_of(listener, settings.host)
        note = ServingNote(store, settings.public_url or address)
        note.begin()
        running.callback(note.end)
        in_force = " ".join(f"{name}={value}" for name, value in describe(settings).items())
        _log.info("settings: %s", in_force, extra=STARTING)
        _log.info("listening on %s", address, extra=STARTING)
        if metrics is not None:
            _log.info("metrics at http://%s/metrics", metrics.address, extra=STARTING)
        if on_listening is not None:
            on_listening(address)

        visitors = Visitors(settings.workers)

        def config(*, replaces: bool) -> Config:
            app = partial(_process_app, settings, visitors, keeper.console, replaces=replaces, around=around)
            return _config(settings, app, log)

        first = config(replaces=link is not None and link.replaces)
        server: GracefulServer | ServerWorkers
        if settings.workers == 1:
            server = GracefulServer(first, partial(course.is_done, WORKERS), on_ending)
        else:
            server = ServerWorkers(
                config(replaces=False),
                listener,
                states,
                first_config=first,
                on_ready=partial(course.is_done, WORKERS),
            )
        course.begin([note.end, keeper.retire, server.retire], listener)
        if isinstance(server, GracefulServer):
            _run_here(server, listener, note_hangup if around is None else _end_here)
        else:
            _run_workers(server)
    _log.info("stopped")


def _config(settings: Settings, app: Callable[[], ASGIApp], log: dict[str, Any]) -> Config:
    return Config(
        app,
        factory=True,
        http=DeliveryProtocol,
        ws="none",
        lifespan="on",
        log_config=log,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        workers=settings.workers,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=math.ceil(settings.shutdown_seconds),
    )


def _allow_open_files() -> None:
    """Raise the limit of open files as far as the system allows: the usual 1,024 are too few for the connections."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # macOS tells of no limit, but has one
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _process_app(
    settings: Settings,
    visitors: Visitors,
    console: str | None,
    *,
    replaces: bool,
    around: Callable[[Starlette], ASGIApp] | None = None,
) -> ASGIApp:
    """The application of one process."""
    sys.setswitchinterval(SWITCH_SECONDS)
    app = create_app(settings, visitors=visitors, console=console, replaces=replaces)
    return app if around is None else around(app)


def _run_here(
    server: GracefulServer, listener: socket.socket, on_hangup: Callable[[int, FrameType | None], None]
) -> None:
    def end(_number: int, _frame: FrameType | None) -> None:
        server.should_exit = True

    # For signals that come before uvicorn handles them. It also raises the one that ended it once more, for whoever
    # handled it before: that is no second end, so that a graceful one is exit status 0.
    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    before[signal.SIGHUP] = signal.signal(signal.SIGHUP, on_hangup)
    try:
        server.run([listener])
    except SystemExit as failure:
        raise ServerError("The server did not start; the log says why.") from failure
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_here(_number: int, _frame: FrameType | None) -> None:
    signal.raise_signal(signal.SIGTERM)


def _run_workers(workers: ServerWorkers) -> None:
    try:
        workers.run()
    except WorkerFailed:
        raise ServerError("A worker process did not start; the log says why.") from None


def address_of(listener: socket.socket, host: str) -> str:
    """Return the base address of the server that listens there, such as ``http://127.0.0.1:8787``."""
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """Listen at a port, or at a free one for 0, in the block. Raises ``ServerError``."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError) as error:
        raise ServerError(
            f"Cannot listen on {host} port {port}: {error}. Choose another port with --port, or stop what uses it."
        ) from None
    listener.setblocking(False)
    listener.set_inheritable(True)
    with listener:
        yield listener


@contextmanager
def taken(listener: socket.socket) -> Iterator[socket.socket]:
    """Take a socket that listens already, in the block."""
    listener.setblocking(False)
    listener.set_inheritable(True)
    with listener:
        yield listener

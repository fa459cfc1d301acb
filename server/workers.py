"""Several processes that serve one listening socket: started, watched, replaced when they die or hang, and ended."""

from __future__ import annotations

import logging
import signal
import socket
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from types import FrameType
from typing import Final

from uvicorn import Config
from uvicorn.config import STARTUP_FAILURE

from server.graceful_server import RETIRED_SECONDS, GracefulServer
from server.logs import LOGGER
from server.processes.child import ANSWER_SECONDS, Child, tell_ready, when_retired
from server.states.states import States
from server.states.table import WORKER

LOOK_SECONDS: Final = 0.5
"""Seconds within which a signal is followed, and for which a slot stays empty at least before its next worker."""
END_SECONDS: Final = 30.0
"""Seconds that a worker may take to end, beside those that its requests are given."""

_log = logging.getLogger(LOGGER)


class WorkerFailed(Exception):
    """A worker could not start; another one could not either."""


class ServerWorkers:
    """``config.workers`` processes, between the begin of ``run`` and its end by SIGTERM or SIGINT."""

    def __init__(
        self,
        config: Config,
        listener: socket.socket,
        states: States,
        *,
        first_config: Config | None = None,
        on_ready: Callable[[], None] | None = None,
    ) -> None:
        """``states`` takes note of workers that die. ``first_config`` is for workers until all are ready, ``config``
        for those that replace one that died later, and for all where there is no other; ``on_ready`` is called once all
        of the first answer."""
        self._states = states
        self._config = config
        self._first_config = first_config or config
        self._listener = listener
        self._on_ready = on_ready
        self._are_ready = False
        self._ending = False
        self._retired = threading.Event()
        self._workers: list[Child] = []

    def run(self) -> None:
        """Serve. To be called on the main thread. Raises ``WorkerFailed``."""
        handlers = {signal.SIGTERM: self._end, signal.SIGINT: self._end, signal.SIGHUP: note_hangup}
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            for _ in range(self._config.workers):
                self._workers.append(self._started(self._first_config))
            while not self._ending and not self._retired.is_set():
                self._keep()
                # Returns at once when one of them dies, and is not held up by any other.
                wait([worker.process.sentinel for worker in self._workers], LOOK_SECONDS if self._are_ready else 0.05)
            if not self._ending:
                self._see_them_off()
        finally:
            self._end_all()
            for number, handler in before.items():
                signal.signal(number, handler)

    def retire(self) -> None:
        """Have the workers take no new connections, and ``run`` end once the last is closed. May be called in any
        thread."""
        self._retired.set()

    def _started(self, config: Config) -> Child:
        return Child("worker", _serve, config, self._listener)

    def _keep(self) -> None:
        for index, worker in enumerate(self._workers):
            if self._ending:
                return
            if worker.exitcode is None and worker.hangs():
                _log.error(
                    "worker process %d has not answered for %g s: it is ended", worker.process.pid, ANSWER_SECONDS
                )
                worker.kill()
            if worker.exitcode is None:
                continue
            if worker.exitcode == STARTUP_FAILURE and not self._are_ready:
                raise WorkerFailed
            self._states.wrong(WORKER)
            _log.error("a worker process ended with status %d: another one is started", worker.exitcode)
            time.sleep(max(0.0, worker.started_at + LOOK_SECONDS - time.monotonic()))
            try:
                self._workers[index] = self._started(self._config if self._are_ready else self._first_config)
            except OSError as error:  # the machine has no process, memory or file left
                _log.error("a worker process cannot be started: %s; it is tried again", error)
                time.sleep(LOOK_SECONDS)
            else:
                worker.close()
        if not self._are_ready and all(worker.is_ready for worker in self._workers):
            self._are_ready = True
            if self._on_ready is not None:
                self._on_ready()

    def _see_them_off(self) -> None:
        """Wait for the end of retired workers, which take as long as their clients keep connections."""
        for worker in self._workers:
            worker.retire()
        deadline = time.monotonic() + RETIRED_SECONDS
        while not self._ending and time.monotonic() < deadline:
            living = [worker.process.sentinel for worker in self._workers if worker.exitcode is None]
            if not living:
                return
            wait(living, LOOK_SECONDS)

    def _end(self, _number: int, _frame: FrameType | None) -> None:
        self._ending = True

    def _end_all(self) -> None:
        for worker in self._workers:
            worker.process.terminate()
        self._listener.close()  # or connections would go on to be accepted for nobody
        deadline = time.monotonic() + (self._config.timeout_graceful_shutdown or 0) + END_SECONDS
        for worker in self._workers:
            pid = worker.process.pid
            if not worker.end(deadline - time.monotonic()):
                _log.error("worker process %d did not end and was killed", pid)


def note_hangup(_number: int, _frame: FrameType | None) -> None:
    """Log that SIGHUP changes nothing here: a server follows keys and content by itself, and outlives its terminal."""
    _log.info("SIGHUP changes nothing: new content is served without it, and new settings need a restart")


def _serve(config: Config, listener: socket.socket) -> None:
    """A worker's process."""
    config.configure_logging()
    server = GracefulServer(config, tell_ready)
    when_retired(server.retire)
    server.run([listener])

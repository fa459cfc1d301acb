"""Several processes that serve one listening socket: started, watched, replaced when they die or hang, and ended."""

from __future__ import annotations

import logging
import multiprocessing
import signal
import socket
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from types import FrameType
from typing import Final

from uvicorn import Config, Server
from uvicorn.config import STARTUP_FAILURE

from server.logs import LOGGER

LOOK_SECONDS: Final = 0.5
"""Seconds within which a signal is followed, and for which a slot stays empty at least before its next worker."""
ANSWER_SECONDS: Final = 30.0
"""A worker that does not answer for so long is replaced."""
END_SECONDS: Final = 30.0
"""Seconds that a worker may take to end, beside those that its requests are given."""

_log = logging.getLogger(LOGGER)


class WorkerFailed(Exception):
    """A worker could not start; another one could not either."""


class _Worker:
    """One process, and how long it has owed an answer."""

    def __init__(self, config: Config, listener: socket.socket) -> None:
        context = multiprocessing.get_context("spawn")
        self._questions, answers = context.Pipe()
        self.started_at = time.monotonic()
        self._asked_at: float | None = None
        self.process = context.Process(target=_serve, args=(config, listener, answers), name="worker")
        self.process.start()
        answers.close()

    @property
    def exitcode(self) -> int | None:
        """``None`` as long as it lives."""
        return self.process.exitcode

    def hangs(self) -> bool:
        """Whether it has owed an answer for too long; asks again where it has given one. Waits for nothing."""
        with suppress(OSError, EOFError):  # dead, which is told by its exit code
            while self._questions.poll():
                self._questions.recv_bytes()
                self._asked_at = None
            if self._asked_at is None:
                self._asked_at = time.monotonic()
                self._questions.send_bytes(b"?")
        return self._asked_at is not None and time.monotonic() - self._asked_at > ANSWER_SECONDS

    def close(self) -> None:
        self._questions.close()
        self.process.close()


class Workers:
    """``config.workers`` processes, between the begin of ``run`` and its end by SIGTERM or SIGINT."""

    def __init__(self, config: Config, listener: socket.socket) -> None:
        self._config = config
        self._listener = listener
        self._ending = False
        self._workers: list[_Worker] = []

    def run(self) -> None:
        """Serve. To be called on the main thread. Raises ``WorkerFailed``."""
        handlers = {signal.SIGTERM: self._end, signal.SIGINT: self._end, signal.SIGHUP: note_hangup}
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            self._workers = [self._started() for _ in range(self._config.workers)]
            while not self._ending:
                self._keep()
                # Returns at once when one of them dies, and is not held up by any other.
                wait([worker.process.sentinel for worker in self._workers], LOOK_SECONDS)
        finally:
            self._end_all()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _started(self) -> _Worker:
        return _Worker(self._config, self._listener)

    def _keep(self) -> None:
        for place, worker in enumerate(self._workers):
            if self._ending:
                return
            if worker.exitcode is None and worker.hangs():
                _log.error(
                    "worker process %d has not answered for %g s: it is ended", worker.process.pid, ANSWER_SECONDS
                )
                worker.process.kill()
                worker.process.join()
            if worker.exitcode is None:
                continue
            if worker.exitcode == STARTUP_FAILURE:
                raise WorkerFailed
            _log.error("a worker process ended with status %d: another one is started", worker.exitcode)
            time.sleep(max(0.0, worker.started_at + LOOK_SECONDS - time.monotonic()))
            worker.close()
            self._workers[place] = self._started()

    def _end(self, _number: int, _frame: FrameType | None) -> None:
        self._ending = True

    def _end_all(self) -> None:
        for worker in self._workers:
            worker.process.terminate()
        deadline = time.monotonic() + (self._config.timeout_graceful_shutdown or 0) + END_SECONDS
        for worker in self._workers:
            worker.process.join(max(0.0, deadline - time.monotonic()))
            if worker.exitcode is None:
                _log.error("worker process %d does not end: it is killed", worker.process.pid)
                worker.process.kill()
                worker.process.join()
            worker.close()


def note_hangup(_number: int, _frame: FrameType | None) -> None:
    """Log that SIGHUP changes nothing: a server follows keys and content by itself, and outlives its terminal."""
    _log.info("SIGHUP changes nothing: new content is served without it, and new settings need a restart")


def _serve(config: Config, listener: socket.socket, answers: Connection) -> None:
    """A worker's process."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the terminal's goes to all its processes
    config.configure_logging()
    threading.Thread(target=_answer, args=(answers,), name="answer-supervisor", daemon=True).start()
    Server(config).run([listener])


def _answer(answers: Connection) -> None:
    with suppress(OSError, EOFError):  # the supervisor is dead; another thread ends the worker then
        while True:
            answers.send_bytes(answers.recv_bytes())

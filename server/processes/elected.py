"""A process of which there is one for all servers and workers of a machine that share a cache."""

from __future__ import annotations

import fcntl
import logging
import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Final

from server.logs import LOGGER

STOP_SECONDS: Final = 8.0

_log = logging.getLogger(LOGGER)


class ElectedProcess:
    """Keeps a process running between ``start`` and ``stop``, in the server or worker that got its lock.

    One that ends is started again, and another server or worker takes over when this one is gone.
    """

    def __init__(
        self,
        name: str,
        target: Callable[..., None],
        arguments: tuple[Any, ...],
        lock: Path,
        *,
        look_seconds: float,
        restart_seconds: float,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        """``target`` is called with ``arguments`` in the process, and returns when it gets SIGTERM; ``name`` is for the
        log. It is looked after every ``look_seconds``, started no sooner than ``restart_seconds`` after the last start,
        and only when ``is_wanted``."""
        self._name = name
        self._target = target
        self._arguments = arguments
        self._lock_file = lock
        self._look_seconds = look_seconds
        self._restart_seconds = restart_seconds
        self._is_wanted = is_wanted
        self._lock: int | None = None
        self._process: BaseProcess | None = None
        self._started_at = float("-inf")
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"keep-{name}", daemon=True)

    def start(self) -> None:
        """Begin to look after the process, which may be started by somebody else."""
        self._thread.start()

    def stop(self) -> None:
        """End the process, after what it does when it is told to, and give up the lock."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._process is not None and self._process.is_alive():
            self._process.terminate()
            self._process.join(STOP_SECONDS)
            if self._process.is_alive():
                _log.warning(
                    "the %s did not end within %g s and was killed; nothing acknowledged is lost",
                    self._name,
                    STOP_SECONDS,
                )
                self._process.kill()
                self._process.join()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _run(self) -> None:
        while True:
            try:
                self._keep()
            except Exception:
                _log.exception("the %s could not be started; it is tried again", self._name)
            if self._stopping.wait(self._look_seconds):
                return

    def _keep(self) -> None:
        if self._process is not None and self._process.is_alive():
            return
        # In this order: where it is not wanted, the lock's directory is not to be made.
        if not self._is_wanted() or not self._elected():
            return
        if time.monotonic() < self._started_at + self._restart_seconds:
            return
        if self._process is not None:
            _log.error("the %s ended with status %s; it is started again", self._name, self._process.exitcode)
        self._started_at = time.monotonic()
        self._process = multiprocessing.get_context("spawn").Process(
            target=self._target, args=self._arguments, name=self._name, daemon=True
        )
        self._process.start()

    def _elected(self) -> bool:
        if self._lock is None:
            self._lock_file.parent.mkdir(parents=True, exist_ok=True)
            lock = os.open(self._lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                os.close(lock)
                if isinstance(error, BlockingIOError):
                    return False
                raise
            self._lock = lock
        return True

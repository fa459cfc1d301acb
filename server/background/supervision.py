"""The keeper of a server, looked after: started, started again when it dies or hangs, and ended with the server."""

from __future__ import annotations

import logging
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from server.background.keeper import Socket, keep
from server.logs import LOGGER
from server.mirror.freshness import Freshness
from server.mirror.silence import Silence
from server.processes.child import ANSWER_SECONDS, Child
from server.settings import Settings
from server.states.states import States
from server.states.table import WORKER
from snapshots.problems import ParquetryError
from snapshots.store.buckets.bucket_url import is_bucket
from snapshots.store.durable import make_directory, writing
from snapshots.times import now_ms

BACKLOG: Final = 1024
LOOK_SECONDS: Final = 0.25
"""Seconds between two looks whether the keeper is there."""
RESTART_SECONDS: Final = 2.0
"""Seconds from one start to the next at least: with them, a keeper that was killed is back within five."""
STOP_SECONDS: Final = 8.0
"""Seconds that the keeper may take to end."""

_log = logging.getLogger(LOGGER)


class ConsoleNotServed(ParquetryError):
    """The machine has no place for the socket of the console."""


@contextmanager
def kept(
    settings: Settings, log: dict[str, Any], states: States, on_ready: Callable[[], None] | None = None
) -> Iterator[KeeperSupervision]:
    """Keep a keeper running during the block, with the configuration ``log`` of the log; ``states`` takes note of one
    that dies, and ``on_ready`` is called, in another thread, once one runs, and serves the console. What is sent to the
    console while the keeper starts waits.

    Raises ``ConsoleNotServed``, and ``StoreError`` where a bucket cannot be opened or its mirror not be written.
    """
    store = settings.open_store()
    silence = None
    if is_bucket(settings.store):
        settings.open_shared_store()  # says what is wrong with the settings before anything is started
        with writing(store.root):
            make_directory(store.root)
        silence = Silence(Freshness(store, None, now_ms))
    with _socket(settings) as console:
        supervision = KeeperSupervision((settings, log, console), silence, states, on_ready)
        supervision.console = None if console is None else console.path
        supervision.start()
        try:
            yield supervision
        finally:
            supervision.stop()


@contextmanager
def _socket(settings: Settings) -> Iterator[Socket | None]:
    """A socket that listens, in a directory of its own; ``None`` where the console is off."""
    if not settings.console:
        yield None
        return
    with ExitStack() as entered:
        try:
            # Paths of sockets have 103 bytes at most, so it is not in the store's cache.
            folder = Path(entered.enter_context(tempfile.TemporaryDirectory(prefix="parquetry-console-")))
            listener = entered.enter_context(socket.socket(socket.AF_UNIX))
            console = Socket(listener, folder)
            listener.bind(console.path)
        except OSError as error:
            raise ConsoleNotServed(
                f"The console has no place for its socket: {error}. Set TMPDIR to a directory that can be written, "
                "with a path of at most 60 characters."
            ) from None
        listener.listen(BACKLOG)
        yield console


class KeeperSupervision:
    """Keeps the process running between ``start`` and ``stop``."""

    console: str | None = None
    """The path of the socket that takes the console's requests; ``None`` where the console is off."""

    def __init__(
        self,
        arguments: tuple[object, ...],
        silence: Silence | None,
        states: States,
        on_ready: Callable[[], None] | None,
    ) -> None:
        self._states = states
        self._arguments = arguments
        self._silence = silence
        self._on_ready = on_ready
        self._is_retired = False
        self._changing = threading.Lock()
        self._keeper: Child | None = None
        self._next_at = 0.0
        """When another may be started (seconds of ``time.monotonic``)."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="keeper", daemon=True)

    def start(self) -> None:
        """Start the keeper, and begin to look after it."""
        self._thread.start()

    def retire(self) -> None:
        """Have the keeper leave all but the console to that of another server. May be called in any thread."""
        with self._changing:
            self._is_retired = True
            if self._keeper is not None:
                self._keeper.retire()

    def stop(self) -> None:
        """End the keeper, after what it does when it is told to."""
        self._stopping.set()
        self._thread.join()
        if self._keeper is not None:
            self._keeper.process.terminate()
            if not self._keeper.end(STOP_SECONDS):
                _log.warning(
                    "the keeper did not end within %g s and was killed; nothing acknowledged is lost", STOP_SECONDS
                )

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._look()
            except Exception:
                _log.exception("the keeper could not be looked after; it is tried again")
            self._stopping.wait(LOOK_SECONDS)

    def _look(self) -> None:
        if self._silence is not None:
            self._silence.tell()
        keeper = self._keeper
        if keeper is not None:
            if keeper.exitcode is None and keeper.hangs():
                _log.error("the keeper has not answered for %g s: it is ended", ANSWER_SECONDS)
                keeper.kill()
            if self._on_ready is not None and keeper.is_ready:
                self._on_ready()
                self._on_ready = None
            if keeper.exitcode is None:
                return
        if time.monotonic() < self._next_at:
            return
        if keeper is not None:
            self._states.wrong(WORKER)
            _log.error("the keeper ended with status %s; it is started again", keeper.exitcode)
            with self._changing:  # ``retire`` may be telling it something
                self._keeper = None
            keeper.close()
        self._next_at = time.monotonic() + RESTART_SECONDS
        try:
            with self._changing:
                self._keeper = Child("keeper", keep, *self._arguments)
                if self._is_retired:
                    self._keeper.retire()
        except OSError as error:  # the machine has no process, memory or file left
            _log.error("the keeper cannot be started: %s; it is tried again", error)

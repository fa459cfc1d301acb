"""The main process itself: a small process that stays, while what answers requests is started anew at each reload.

SIGHUP starts the program that is installed now, with the arguments and the environment of the start, beside the one
that answers. Once the new one is ready, the other takes no more connections, and ends when the last is closed. One
that does not get ready replaces nobody. The listening sockets stay here throughout, so no connection is ever refused.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from server.logs import LOGGER
from server.main_process.generation import ANSWER_SECONDS, Generation
from server.main_process.service_manager import ServiceManager

READY_SECONDS: Final = 300.0
"""Seconds that a new program may take to get ready, unless ``CMS_RELOAD_SECONDS`` says otherwise."""
LOOK_SECONDS: Final = 0.5
"""Seconds between two looks, where nothing happens."""
RESTART_SECONDS: Final = 2.0
"""Seconds from one start to the next at least, where a server process died."""
END_SECONDS: Final = 20.0
"""Seconds that a new program that failed may take to end."""
MOST_RETIRED: Final = 2
"""Replaced server processes that may wait at once for their clients to use or close the connections they keep."""

_log = logging.getLogger(LOGGER)


class MainProcess:
    """Runs until SIGTERM or SIGINT, or until what is started at first ends before it answers."""

    def __init__(
        self,
        command: Sequence[str],
        sockets: dict[str, socket.socket],
        manager: ServiceManager,
        ready_seconds: float = READY_SECONDS,
    ) -> None:
        """``command`` starts the installed program; ``sockets`` are those that a service manager handed over, by
        name."""
        self._command = command
        self._sockets = sockets
        self._manager = manager
        self._ready_seconds = ready_seconds
        self._serving: Generation | None = None
        self._starting: Generation | None = None
        self._leaving: list[Generation] = []
        """Those that have been replaced, or have failed, from the oldest on."""
        self._given_up: dict[Generation, float] = {}
        """Until when those that have failed may take to end."""
        self._started_at = -RESTART_SECONDS
        self._was_ready = False
        """Whether any has ever answered: then the program and the settings can work, and no failure is the end."""
        self._is_reload_wanted = False
        self._is_ending = False
        self._status = 0

    def run(self) -> int:
        """Serve, and return the exit status. To be called on the main thread. Raises ``OSError`` where the program
        cannot be started at all."""
        with self._signals() as woken:
            self._start()
            while not self._step():
                links = [link for one in self._all() if (link := one.link) is not None]
                select.select([woken, *links], [], [], LOOK_SECONDS)
                with suppress(BlockingIOError):
                    woken.recv(1024)
        return self._status

    def _step(self) -> bool:
        """Do what is to be done now; return whether this is the end."""
        for one in self._all():
            one.look()
            while one.kept:
                name, kept = one.kept.popitem()
                if self._sockets.setdefault(name, kept) is not kept:
                    kept.close()
            if one.hangs():
                _log.error("server process %d has not answered for %g s: it is ended", one.pid, ANSWER_SECONDS)
                one.kill()
        self._clear_up()
        if not self._is_ending:
            self._look_at_the_new_one()
        if not self._is_ending:
            self._replace_a_dead_one()
            if self._is_reload_wanted and self._serving is not None and self._starting is None:
                self._reload()
        return self._is_ending and self._has_ended()

    def _look_at_the_new_one(self) -> None:
        """Put it in its place where it is ready, and give it up where it fails."""
        new = self._starting
        if new is None:
            return
        if new.status is not None:
            self._give_up(new, f"it ended with status {new.status} before it was ready")
        elif new.version is not None:
            self._starting, old, self._serving = None, self._serving, new
            status = f"Version {new.version} answers requests."
            if old is not None:
                old.retire()
                self._leaving.append(old)
                _log.info("reloaded: version %s answers, in process %d", new.version, new.pid)
            elif self._was_ready:
                _log.info("version %s answers again, in process %d", new.version, new.pid)
            self._was_ready = True
            self._manager.ready(status)
        elif self._was_ready and time.monotonic() - new.started_at > self._ready_seconds:
            self._give_up(new, f"it was not ready within {self._ready_seconds:g} s (CMS_RELOAD_SECONDS)")

    def _give_up(self, new: Generation, why: str) -> None:
        self._starting = None
        new.end()
        self._leaving.append(new)
        self._given_up[new] = time.monotonic() + END_SECONDS
        if self._serving is not None:
            self._fail(why)
        elif self._was_ready:  # the one that answered has died, and another is started in its place, as often as needed
            _log.error("server process %d does not take the place of the one that ended: %s", new.pid, why)
        else:  # whoever started this is told that it does not work
            self._is_ending = True
            self._status = new.status if new.status is not None and new.status > 0 else 1

    def _fail(self, why: str) -> None:
        _log.error("the reload failed, and the processes of before go on: the new program cannot take over, %s", why)
        if self._serving is not None:
            self._serving.tell_failure(why)
        self._manager.ready(f"The last reload failed: {why}; the processes of before go on.")

    def _replace_a_dead_one(self) -> None:
        if self._serving is not None and self._serving.status is not None:
            _log.error("server process %d ended with status %d", self._serving.pid, self._serving.status)
            self._leaving.append(self._serving)
            self._serving = None
        is_alone = self._serving is None and self._starting is None
        if is_alone and time.monotonic() - self._started_at >= RESTART_SECONDS:
            _log.error("another server process is started")
            try:
                self._start(follows_dead=True)
            except OSError as error:  # the machine has no process or memory left, or the program is being installed
                _log.error("it cannot be started: %s; it is tried again", error)

    def _reload(self) -> None:
        self._is_reload_wanted = False
        _log.info("SIGHUP: the installed program is started beside this one, with the settings of the start")
        self._manager.reloading()
        try:
            self._start(replaces=True)
        except OSError as error:
            self._fail(f"it cannot be started: {error}")

    def _start(self, *, replaces: bool = False, follows_dead: bool = False) -> None:
        self._started_at = time.monotonic()
        self._starting = Generation(self._command, self._sockets, replaces=replaces, follows_dead=follows_dead)

    def _clear_up(self) -> None:
        """Take note of those that have ended, and end those that take too long."""
        for one in tuple(self._leaving):
            if one.status is not None:
                self._leaving.remove(one)
                self._given_up.pop(one, None)
                one.close()
            elif time.monotonic() > self._given_up.get(one, float("inf")):
                one.kill()
        for one in self._leaving[:-MOST_RETIRED]:
            one.end()

    def _has_ended(self) -> bool:
        """Have everything end; return whether it has, and know the exit status then."""
        for listener in self._sockets.values():
            listener.close()  # or connections would go on to be accepted for nobody
        everyone = self._all()
        for one in everyone:
            one.end()
        if any(one.status is None for one in everyone):
            return False
        last = self._serving or self._starting
        if last is not None and last.status not in (0, -signal.SIGTERM):
            self._status = 1
        for one in everyone:
            one.close()
        return True

    def _all(self) -> list[Generation]:
        return [*self._leaving, *(one for one in (self._serving, self._starting) if one is not None)]

    @contextmanager
    def _signals(self) -> Iterator[socket.socket]:
        """Take the signals in the block; what is yielded is readable when one has come."""

        def end(_number: int, _frame: object) -> None:
            if not self._is_ending:
                self._is_ending = True
                self._manager.stopping()

        def reload(_number: int, _frame: object) -> None:
            self._is_reload_wanted = True

        def look(_number: int, _frame: object) -> None:
            """A child has ended, which the loop looks at."""

        handlers = {signal.SIGTERM: end, signal.SIGINT: end, signal.SIGHUP: reload, signal.SIGCHLD: look}
        with ExitStack() as restored:
            woken, wake = socket.socketpair()
            for one in (woken, wake):
                one.setblocking(False)
                restored.enter_context(one)
            restored.callback(signal.set_wakeup_fd, signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False))
            for number, handler in handlers.items():
                restored.callback(signal.signal, number, signal.signal(number, handler))
            yield woken


def ready_seconds(environment: Mapping[str, str]) -> float:
    """Return the seconds that a new program may take; a server process says what is wrong with the setting."""
    try:
        return float(environment.get("CMS_RELOAD_SECONDS") or READY_SECONDS)
    except ValueError:
        return READY_SECONDS


def installed_command() -> list[str]:
    """Return the command that starts the installed program as this one was started, whatever is installed by then.

    The path is the one by which this program was called, so that a link in it may point to another installation.
    """
    program, *arguments = sys.argv
    path = Path(program)
    if os.sep in program and path.is_file() and os.access(path, os.X_OK):
        return [str(path.absolute()), *arguments]
    return [sys.executable, "-P", "-c", "from parquetry import main; main()", *arguments]

"""One start of the installed program: the server process that answers, and all the processes that it starts."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from server.main_process.messages import ALIVE, ASK, FAILED, KEEP, READY, RETIRE, VARIABLE, Lines

ANSWER_SECONDS: Final = 30.0
"""Seconds without an answer after which a server process hangs."""
ASK_SECONDS: Final = 1.0


class Generation:
    """A server process, as the main process sees it."""

    def __init__(
        self,
        command: Sequence[str],
        sockets: Mapping[str, socket.socket],
        *,
        replaces: bool = False,
        follows_dead: bool = False,
    ) -> None:
        """Start it with the listening sockets that there are; ``replaces`` says that another one is answering,
        ``follows_dead`` that another one has died.

        Raises ``OSError``.
        """
        ours, theirs = socket.socketpair()
        told = {
            "link": theirs.fileno(),
            "sockets": {name: one.fileno() for name, one in sockets.items()},
            "replaces": replaces,
            "follows_dead": follows_dead,
        }
        # A terminal that is closed sends SIGHUP to all its processes; only the main process reloads.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
        try:
            self._process = subprocess.Popen(
                command,
                env={**os.environ, VARIABLE: json.dumps(told)},
                pass_fds=[theirs.fileno(), *(one.fileno() for one in sockets.values())],
            )
        except BaseException:
            ours.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            theirs.close()
        self.started_at: Final = time.monotonic()
        self.version: str | None = None
        """The version of the program that is ready; ``None`` before."""
        self.kept: dict[str, socket.socket] = {}
        """The sockets that it has begun to listen on."""
        ours.settimeout(0)
        self._lines = Lines(ours)
        self._is_open = True
        self._is_told_to_end = False
        self._asked_at = time.monotonic()
        self._owes_answer = False

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def link(self) -> socket.socket | None:
        """What becomes readable when there is something to ``look`` at."""
        return self._lines.end if self._is_open else None

    @property
    def status(self) -> int | None:
        """The exit status; ``None`` as long as it lives."""
        return self._process.poll()

    def look(self) -> None:
        """Take in what it has said, and ask one that is ready whether it is there. Waits for nothing."""
        while self._is_open:
            try:
                for message in self._lines.receive():
                    self._owes_answer = self._owes_answer and ALIVE not in message
                    if KEEP in message:
                        self.kept[str(message[KEEP])] = socket.socket(fileno=self._lines.sockets.popleft())
                    if READY in message:
                        self.version = str(message[READY])
            except BlockingIOError:
                break
            except (OSError, EOFError, ValueError):
                self._close()
        if self.version is not None and not self._owes_answer and time.monotonic() - self._asked_at >= ASK_SECONDS:
            self._asked_at, self._owes_answer = time.monotonic(), True
            self._tell(ASK, True)

    def hangs(self) -> bool:
        """Whether it has owed an answer for too long."""
        return self._owes_answer and self._is_open and time.monotonic() - self._asked_at > ANSWER_SECONDS

    def retire(self) -> None:
        """Have it take no new connections, and end when those that it has are closed."""
        self._tell(RETIRE, True)

    def tell_failure(self, why: str) -> None:
        """Tell it, for those who ask it, that a reload failed."""
        self._tell(FAILED, why)

    def end(self) -> None:
        """Have it end, once what is under way is answered."""
        if not self._is_told_to_end and self.status is None:
            self._is_told_to_end = True
            self._process.terminate()

    def kill(self) -> None:
        """End it now. The processes that it started notice that, and end."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Give up what is left of one that has ended."""
        self._close()
        for one in self.kept.values():
            one.close()

    def _close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._lines.end.close()

    def _tell(self, name: str, value: object) -> None:
        if self._is_open:
            with suppress(OSError):  # it is ending, or so far behind that it is told to hang
                self._lines.send(name, value)

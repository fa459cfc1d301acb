"""A server process's end of what it and its main process tell each other."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Callable, MutableMapping
from contextlib import suppress

from server.main_process.messages import ALIVE, ASK, FAILED, KEEP, READY, RETIRE, VARIABLE, Lines


class MainLink:
    """The link to the main process that started this one."""

    def __init__(
        self, end: socket.socket, sockets: dict[str, socket.socket], *, replaces: bool, follows_dead: bool
    ) -> None:
        self.sockets = sockets
        """The listening sockets that the main process holds, by name."""
        self.replaces = replaces
        """Whether another server process is answering, and is to be replaced."""
        self.follows_dead = follows_dead
        """Whether another server process has died, and is replaced."""
        self._lines = Lines(end)
        self._sending = threading.Lock()

    def keep(self, name: str, listener: socket.socket) -> None:
        """Have the main process hold a listening socket, for the next server process."""
        self._send(KEEP, name, listener.fileno())

    def ready(self, version: str) -> None:
        """Say that requests are answered, by this version of the program."""
        self._send(READY, version)

    def listen(self, on_retired: Callable[[], None], on_failed: Callable[[], None]) -> None:
        """Answer the main process from now on, in a thread. ``on_retired`` is called there when another server process
        has taken over, ``on_failed`` when one could not. SIGTERM comes when the main process is gone."""

        def take(message: dict[str, object]) -> None:
            if ASK in message:
                self._send(ALIVE, True)
            if RETIRE in message:
                on_retired()
            if FAILED in message:
                on_failed()

        def run() -> None:
            with suppress(OSError, EOFError):
                while True:
                    for message in self._lines.receive():
                        take(message)
            os.kill(os.getpid(), signal.SIGTERM)

        threading.Thread(target=run, name="answer-main-process", daemon=True).start()

    def _send(self, name: str, value: object, descriptor: int | None = None) -> None:
        with self._sending, suppress(OSError):  # the main process is gone, which the thread notices
            self._lines.send(name, value, descriptor)


def link_to_main_process(environment: MutableMapping[str, str] = os.environ) -> MainLink | None:
    """Return the link to the main process that started this one, ``None`` where none did."""
    told = environment.pop(VARIABLE, None)
    if told is None:
        return None
    read = json.loads(told)
    for descriptor in (read["link"], *read["sockets"].values()):
        os.set_inheritable(descriptor, False)
    sockets = {name: socket.socket(fileno=descriptor) for name, descriptor in read["sockets"].items()}
    return MainLink(
        socket.socket(fileno=read["link"]),
        sockets,
        replaces=read.get("replaces", False),
        follows_dead=read.get("follows_dead", False),
    )

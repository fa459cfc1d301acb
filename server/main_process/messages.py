"""Messages between the main process and a server process, which may be of different versions of the program.

Each is a line of JSON on a pair of sockets; unknown ones are passed over, so that either side can have new ones.
"""

from __future__ import annotations

import json
import os
import socket
from collections import deque
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

Message: TypeAlias = dict[str, Any]

VARIABLE: Final = "PARQUETRY_MAIN_PROCESS"
"""The variable by which a server process learns of its main process."""
KEEP: Final = "keep"
"""To the main process, with a listening socket: keep it for the next server process, under a name."""
READY: Final = "ready"
"""To the main process: requests are answered, by this version of the program."""
ALIVE: Final = "alive"
"""To the main process: the answer to ``ASK``."""
ASK: Final = "ask"
"""From the main process: are you there?"""
RETIRE: Final = "retire"
"""From the main process: another server process has taken over."""
FAILED: Final = "failed"
"""From the main process: a reload failed, and why."""

_MOST_BYTES: Final = 1 << 16
_MOST_SOCKETS: Final = 8


class Lines:
    """One end of the pair."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self.sockets: deque[int] = deque()
        """Descriptors that came with ``KEEP``, in their order."""
        self._rest = b""

    def send(self, name: str, value: object, descriptor: int | None = None) -> None:
        """Send a message. Raises ``OSError``."""
        line = json.dumps({name: value}).encode() + b"\n"
        if descriptor is None:
            self.end.sendall(line)
        else:
            socket.send_fds(self.end, [line], [descriptor])

    def receive(self) -> Iterator[Message]:
        """Wait for bytes, and yield the messages that are whole with them. Raises ``OSError``, ``EOFError`` at the
        end."""
        received, descriptors, _, _ = socket.recv_fds(self.end, _MOST_BYTES, _MOST_SOCKETS)
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
            self.sockets.append(descriptor)
        if not received:
            raise EOFError
        *lines, self._rest = (self._rest + received).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if isinstance(message, dict):
                yield message

"""Tell the service manager how the server is: systemd's protocol ``sd_notify``, a datagram with lines of text."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Final

VARIABLE: Final = "NOTIFY_SOCKET"


class ServiceManager:
    """The service manager that started this process, if there is one. What it does not take is lost, and no harm."""

    def __init__(self, environment: MutableMapping[str, str] = os.environ) -> None:
        """Read where to tell it, and remove that from the environment: other processes have nothing to tell."""
        self._address = environment.pop(VARIABLE, "")

    def ready(self, status: str) -> None:
        """Say that requests are answered: after the start, and after a reload, whatever became of it."""
        self._tell("READY=1", f"STATUS={status}")

    def reloading(self) -> None:
        """Say that a reload begins, which ``ready`` ends."""
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._tell("RELOADING=1", f"MONOTONIC_USEC={now}", "STATUS=Reloading.")

    def stopping(self) -> None:
        """Say that the server ends."""
        self._tell("STOPPING=1", "STATUS=Ending: requests under way are answered.")

    def _tell(self, *lines: str) -> None:
        if self._address:
            address = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
            with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
                manager.setblocking(False)
                manager.sendto("\n".join(lines).encode(), address)

"""The listening sockets that a service manager hands to a process that it starts (systemd's socket activation)."""

from __future__ import annotations

import os
import socket
from collections.abc import MutableMapping
from typing import Final

from snapshots.problems import ParquetryError

HTTP: Final = "http"
"""The name of the socket that requests come to."""
METRICS: Final = "metrics"
"""The name of the socket of ``/metrics``, as ``FileDescriptorName`` says it."""

_FIRST: Final = 3
"""The number of the first descriptor that is handed over."""


class WrongSockets(ParquetryError):
    """The service manager hands over sockets that a server cannot listen on."""


def handed_sockets(environment: MutableMapping[str, str] = os.environ) -> dict[str, socket.socket]:
    """Return the sockets handed to this process by name, and remove the variables that tell of them.

    The one named ``metrics`` is for the metrics, the one of any other name for requests. Raises ``WrongSockets``.
    """
    pid, count, names = (environment.pop(f"LISTEN_{name}", "") for name in ("PID", "FDS", "FDNAMES"))
    if pid != str(os.getpid()) or not count.isdigit():
        return {}
    told = names.split(":")
    found: dict[str, socket.socket] = {}
    for number in range(int(count)):
        name = METRICS if number < len(told) and told[number] == METRICS else HTTP
        if name in found:
            raise WrongSockets(
                f"The service manager hands over more than one socket for {name}. Give the socket unit one "
                "ListenStream, and the one for metrics a unit of its own with FileDescriptorName=metrics."
            )
        os.set_inheritable(_FIRST + number, False)
        found[name] = _listening(_FIRST + number)
    return found


def _listening(descriptor: int) -> socket.socket:
    try:
        handed = socket.socket(fileno=descriptor)
        is_usable = handed.family in (socket.AF_INET, socket.AF_INET6) and handed.type == socket.SOCK_STREAM
        is_usable = is_usable and bool(handed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
    except OSError:
        is_usable = False
    if not is_usable:
        raise WrongSockets(
            f"Descriptor {descriptor} of the service manager is no TCP socket that listens. Set ListenStream in the "
            "socket unit to an address and a port, and Accept=no."
        )
    return handed

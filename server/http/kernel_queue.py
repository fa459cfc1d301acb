"""Ask how many bytes the kernel holds for the other end of a socket, which has not taken them."""

from __future__ import annotations

import fcntl
import socket
import struct
import sys
import termios
from contextlib import suppress
from typing import Final

_SO_NWRITE: Final = 0x1024
"""The option of macOS that tells the bytes in the send buffer; Python does not name it."""


def queued(connection: socket.socket) -> int:
    """Return the bytes written to a socket that its other end has not acknowledged; 0 where the kernel tells none."""
    try:
        if sys.platform == "darwin":
            return connection.getsockopt(socket.SOL_SOCKET, _SO_NWRITE)
        (size,) = struct.unpack("i", fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, b"\0" * 4))
    except OSError:
        return 0
    return int(size)


def drop_when_closed(connection: socket.socket) -> None:
    """Make the kernel drop unsent bytes when the socket is closed, instead of offering them for minutes more."""
    with suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

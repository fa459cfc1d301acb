"""Gives servers that cannot choose a port themselves one that nothing else takes before they listen on it."""

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path

# Below the ports that Linux (32768) and macOS (49152) give to outgoing connections and to servers on port 0: one of
# those may be gone again before the server that it was meant for has started.
RANGE = range(20_000, 32_000)

# A byte for each port, locked by the process that was given it: of dozens at once, two tests would have one in common.
_GIVEN = os.open(Path(tempfile.gettempdir()) / f"ports-of-parquetry-tests-{os.getuid()}", os.O_RDWR | os.O_CREAT)
_own: set[int] = set()


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on, and that no other call gives while this process lives."""
    while True:
        port = random.choice(RANGE)
        if port in _own:
            continue
        try:
            fcntl.lockf(_GIVEN, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        _own.add(port)
        return port

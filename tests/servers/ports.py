"""Gives servers that cannot choose a port themselves one that nothing else takes before they listen on it."""

import random
import socket

# Below the ports that Linux (32768) and macOS (49152) give to outgoing connections and to servers on port 0: one of
# those may be gone again before the server that it was meant for has started.
RANGE = range(20_000, 32_000)


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on, picked at random so that tests side by side pick different ones."""
    while True:
        port = random.choice(RANGE)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port

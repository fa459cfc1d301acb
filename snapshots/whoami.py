"""Who changes a store: ``user@host``, as manifests and activations record it (design section 3)."""

from __future__ import annotations

import getpass
import socket


def whoami() -> str:
    """The user running this program and the machine's name; ``unknown`` where the user has no name."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "unknown"
    return f"{user}@{socket.gethostname()}"

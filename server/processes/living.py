"""Whether a process lives."""

from __future__ import annotations

import os


def is_alive(pid: int) -> bool:
    """Return whether there is a process with this number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True

"""An ID for every request: the one it came with, or a new one. It stands in the answer's headers and in the log."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from itertools import count
from typing import Final

from server.logs import without_keys

HEADER: Final = b"x-request-id"

_USABLE: Final = re.compile(rb"[A-Za-z0-9._-]{1,64}")


def _numbering() -> Callable[[], bytes]:
    process = secrets.token_hex(4).encode("ascii")
    numbers = count(1)
    return lambda: b"%b-%x" % (process, next(numbers))


new_request_id: Final = _numbering()
"""Returns an ID that no other request has, in this process or another."""


def kept_request_id(given: bytes) -> bytes:
    """The ID that a request came with, if it can be written to a log as it is and holds no API key, else a new ID."""
    if _USABLE.fullmatch(given) is None:
        return new_request_id()
    text = given.decode("ascii")
    return given if without_keys(text) == text else new_request_id()

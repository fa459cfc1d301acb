"""An ID for every request: the one it came with, or a new one. It stands in the answer's headers and in the log."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from itertools import count
from typing import Final

from starlette.types import Scope

from server.logs import without_keys
from server.tracing.trace_context import HEADER as TRACEPARENT

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


def request_id_of(scope: Scope) -> bytes:
    """The ID of a request that has just come in; to be asked for once."""
    return ids_of(scope)[0]


def ids_of(scope: Scope) -> tuple[bytes, bytes | None]:
    """The ID of a request that has just come in, and its ``traceparent``, ``None`` for none or more than one; to be
    asked for once."""
    given: bytes | None = None
    traceparent: bytes | None = None
    count = 0
    for name, value in scope["headers"]:  # one look at them all, as every request passes here
        if name == HEADER:
            given = value if given is None else given
        elif name == TRACEPARENT:
            traceparent = value
            count += 1
    return new_request_id() if given is None else kept_request_id(given), traceparent if count == 1 else None

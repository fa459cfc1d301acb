"""Headers by which workers and the console describe a request to each other; no browser can send or see them."""

from __future__ import annotations

from typing import Final, TypeAlias

Headers: TypeAlias = list[tuple[bytes, bytes]]

VISITOR: Final = b"parquetry-visitor"
"""Stands for the browser's network address."""
WORKSPACE: Final = b"parquetry-workspace"
"""The workspace that an answer is about, for the access log."""
SIGNED_IN: Final = b"parquetry-signed-in"
"""Whether a request is one of a session, ``1`` or ``0``; missing where that made no difference."""

_OURS: Final = b"parquetry-"
_OF_A_CONNECTION: Final = frozenset(
    {
        b"connection",
        b"expect",
        b"keep-alive",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)


def passed_on(headers: Headers) -> Headers:
    """Return the headers that go on from one connection to the next: those of the message alone (RFC 9110, 7.6.1)."""
    return [(name, value) for name, value in headers if name not in _OF_A_CONNECTION and not name.startswith(_OURS)]

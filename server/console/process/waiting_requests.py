"""Decide, before any work is done for a request, whether one more may wait for the console.

Anybody can open connections, so most places are not for everybody: some are for browsers that hold a session's cookie,
and some for those of which the console has told that their session is one. And whoever has no session gets few at once.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

MOST_WAITING: Final = 64
"""Requests of a worker that wait for the console, at most."""
MOST_CLAIMED: Final = 56
"""Number of waiting requests from which on only known sessions get a place."""
MOST_OF_STRANGERS: Final = 48
"""Number of waiting requests from which on a request without a session's cookie gets no place."""
MOST_OF_VISITOR: Final = 16
"""Requests of one network address that wait at once, without those of known sessions."""
MOST_OF_SESSION: Final = 8
"""Requests of one known session that wait at once, at most."""
MOST_KNOWN: Final = 1000
"""Sessions that a worker knows; the ones not seen the longest go, and are known again from their next answer on."""

_SESSION: Final = re.compile(rb"(?:^|[;\s])(?:__Host-)?parquetry-session=([A-Za-z0-9_-]{43})(?=$|[;\s])")


class WaitingRequests:
    """The places of one worker. To be used on one event loop."""

    def __init__(self) -> None:
        self._waiting: Counter[bytes] = Counter()
        self._known: OrderedDict[bytes, None] = OrderedDict()

    @contextmanager
    def admitted(self, visitor: bytes, session: bytes | None) -> Iterator[bool]:
        """Give whether there is a place for a request, which has it for the block.

        ``visitor`` stands for its network address, and ``session`` for the session whose cookie it holds.
        """
        if session is not None and session in self._known:
            whose, most, most_of_one = b"session " + session, MOST_WAITING, MOST_OF_SESSION
        else:
            whose, most_of_one = b"visitor " + visitor, MOST_OF_VISITOR
            most = MOST_OF_STRANGERS if session is None else MOST_CLAIMED
        if self._waiting.total() >= most or self._waiting[whose] >= most_of_one:
            yield False
            return
        self._waiting[whose] += 1
        try:
            yield True
        finally:
            self._waiting[whose] -= 1
            if not self._waiting[whose]:
                del self._waiting[whose]

    def note(self, session: bytes | None, *, signed_in: bool | None) -> None:
        """Keep in mind what the console says of a session."""
        if session is None or signed_in is None:
            return
        self._known.pop(session, None)
        if signed_in:
            self._known[session] = None
            if len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)


def session_of(headers: list[tuple[bytes, bytes]]) -> bytes | None:
    """Return what stands for the session whose cookie a request holds; ``None`` without one. It is not checked."""
    for name, value in headers:
        if name == b"cookie" and (found := _SESSION.search(value)) is not None:
            return hashlib.sha256(found[1]).digest()
    return None

"""The rate limit of a key: so many requests in any 60 seconds at most (contract 8, decision 28).

A sliding window is kept as a log: the instants of the requests that were let through within the last window.
A request is let through while the log holds fewer than the limit, so that no span of 60 seconds ever holds more,
wherever it begins; counters of whole minutes would let twice as many through around a boundary. Only what was let
through is in the log: a client that goes on asking while it is refused is let in again as soon as the oldest
request it was granted is 60 seconds old, not 60 seconds after it kept quiet.

``rate_limit_local`` beside it keeps the logs of a machine, ``rate_limit_redis`` those of several.
"""

from __future__ import annotations

from collections import deque
from functools import lru_cache
from hashlib import blake2b

import msgspec

WINDOW_MS = 60_000
DEFAULT_LIMIT = 300
"""Requests a window where neither the key nor its workspace says otherwise (contract 8)."""

SHARED_SCHEMES = {"redis": "redis", "rediss": "rediss", "unix": "unix", "valkey": "redis", "valkeys": "rediss"}
"""The names in the client library of the schemes that a shared server's URL may have."""


class Allowance(msgspec.Struct):
    """The state of a key's window as one request found it."""

    allowed: bool
    limit: int
    remaining: int
    """Requests that would be let through now, after this one."""
    reset: int
    """Milliseconds until more are available: until the oldest request that stands in the way leaves the window."""
    window: int = WINDOW_MS
    """Milliseconds."""

    @property
    def reset_seconds(self) -> int:
        """``reset`` in whole seconds, rounded up, so that asking again after it is not too early."""
        return -(-self.reset // 1000)

    @property
    def retry_after(self) -> int:
        """Seconds, whole and at least 1, after which a refused client may ask again."""
        return max(1, self.reset_seconds)


@lru_cache(maxsize=4096)
def window_name(workspace: str, key_id: str) -> bytes:
    """The name of a key's log in every storage: 16 bytes, the same on every machine."""
    return blake2b(f"{workspace}/{key_id}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


class MemoryWindows:
    """The logs of one process alone: a server uses them while the shared ones cannot be used."""

    def __init__(self, window: int = WINDOW_MS) -> None:
        self._window = window
        self._logs: dict[bytes, deque[int]] = {}

    def take(self, name: bytes, limit: int, now: int) -> Allowance:
        """Count a request of the key ``name`` at ``now`` (UTC milliseconds), if it is within the limit."""
        log = self._logs.setdefault(name, deque())
        if log and log[-1] - now > self._window:
            log.clear()
        stamp = max(now, log[-1]) if log else now
        while log and log[0] <= stamp - self._window:
            log.popleft()
        allowed = len(log) < limit
        if allowed:
            log.append(stamp)
        blocking = log[max(0, len(log) - limit)]
        reset = min(self._window, blocking + self._window - now)
        return Allowance(allowed, limit, max(0, limit - len(log)), reset, self._window)

    def give_back(self, name: bytes) -> None:
        """Undo the newest request of a key, which was refused elsewhere."""
        log = self._logs.get(name)
        if log:
            log.pop()

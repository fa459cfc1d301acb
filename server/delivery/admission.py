"""Admit a request: find the key that asks, note its last use, and count it for its key's limit, or refuse it (429)."""

from __future__ import annotations

from typing import Final

import msgspec

from engine.access.keys.access import Keyring
from engine.access.keys.keys import Key
from engine.access.keys.last_use import LastUse
from engine.access.keys.rate_limit import DEFAULT_LIMIT, window_name
from server.delivery.rate_limit import RateLimits, TooManyRequests
from server.http.exchange import Exchange
from server.workspaces.workspaces import NotReady, Workspaces

MOST_CALLERS: Final = 4096
"""Callers that are remembered."""
_MINUTE_MS: Final = 60_000


class Caller(msgspec.Struct, frozen=True, eq=False):
    """A key that was found to be valid for a workspace, and what follows from it for each request."""

    workspace: str
    key: Key
    keyring: Keyring
    """The one by which the key was found valid."""
    snapshot: int
    """The number of the snapshot that was served then."""
    version: str
    window: bytes
    """The name of the key's window."""
    limit: int
    """Requests a window."""
    since: int
    until: int
    """UTC milliseconds, excluded, of the span in which the key stays valid."""


class Admission:
    """Admits requests whose key may read the workspace they ask. Used on the event loop."""

    def __init__(self, workspaces: Workspaces, rate_limits: RateLimits, uses: LastUse) -> None:
        self._workspaces = workspaces
        self._rate_limits = rate_limits
        self._uses = uses
        self._callers: dict[tuple[str, bytes | None], Caller] = {}

    def caller(self, presented: bytes | None, workspace: str, now: int) -> Caller:
        """Return the caller who presents a key at ``now`` (UTC milliseconds). Raises as ``Workspaces.authorize``."""
        caller = self._callers.get((workspace, presented))
        if caller is None or not self.is_current(caller, now):
            caller = self._found(presented, workspace, now)
            if len(self._callers) >= MOST_CALLERS:  # keys came and went
                self._callers.clear()
            self._callers[workspace, presented] = caller
        return caller

    def is_current(self, caller: Caller, now: int) -> bool:
        """Whether everything that was found about a caller is still so at ``now`` (UTC milliseconds)."""
        served = self._workspaces.served(caller.workspace)
        return (
            caller.since <= now < caller.until
            and caller.keyring is self._workspaces.keyring
            and served is not None
            and served.number == caller.snapshot
        )

    async def admit(self, exchange: Exchange, caller: Caller, now: int) -> None:
        """Count a request at ``now`` (UTC milliseconds), whatever its answer is, and note its key, version and limit
        in its ``exchange``. Raises ``TooManyRequests`` for a request over the limit, which is not counted."""
        exchange.workspace, exchange.key_prefix = caller.workspace, caller.key.prefix
        exchange.snapshot, exchange.snapshot_at = caller.version, now
        self._uses.note(caller.workspace, caller.key.id, now)
        allowance = self._rate_limits.take_here(caller.window, caller.limit, now)
        if self._rate_limits.is_shared and allowance.allowed:
            allowance = await self._rate_limits.take_everywhere(caller.window, allowance, now)
        exchange.allowance = allowance
        if not allowance.allowed:
            raise TooManyRequests(allowance)

    def _found(self, presented: bytes | None, workspace: str, now: int) -> Caller:
        keyring = self._workspaces.keyring
        key = self._workspaces.authorize(presented, workspace, now)
        served = self._workspaces.served(workspace)
        if served is None:
            raise NotReady
        # Keys come into force and expire at the full minute of every time zone there is now, at the earliest.
        minute = now - now % _MINUTE_MS
        return Caller(
            workspace=workspace,
            key=key,
            keyring=keyring,
            snapshot=served.number,
            version=served.reader.version,
            window=window_name(workspace, key.id),
            limit=key.rate_limit or served.reader.manifest.workspace.rate_limit or DEFAULT_LIMIT,
            since=minute,
            until=minute + _MINUTE_MS,
        )

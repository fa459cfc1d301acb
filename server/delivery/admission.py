"""Count a request for its key's rate limit and note it as the key's last use, or refuse it (429)."""

from __future__ import annotations

from engine.access.keys.keys import Key
from engine.access.keys.last_use import LastUse
from engine.access.keys.rate_limit import DEFAULT_LIMIT, window_name
from server.delivery.rate_limit import RateLimits, TooManyRequests
from server.http.exchange import Exchange
from server.workspaces.open_snapshot import OpenSnapshot


class Admission:
    """Admits requests whose key may read the workspace they ask."""

    def __init__(self, rate_limits: RateLimits, uses: LastUse) -> None:
        self._rate_limits = rate_limits
        self._uses = uses

    async def admit(self, exchange: Exchange, workspace: str, key: Key, snapshot: OpenSnapshot, now: int) -> None:
        """Count a request at ``now`` (UTC milliseconds), whatever its answer is, and note its key, version and limit
        in its ``exchange``. Raises ``TooManyRequests`` for a request over the limit, which is not counted."""
        exchange.workspace, exchange.key_prefix = workspace, key.prefix
        exchange.snapshot, exchange.snapshot_at = snapshot.reader.version, now
        self._uses.note(workspace, key.id, now)
        limit = key.rate_limit or snapshot.reader.manifest.workspace.rate_limit or DEFAULT_LIMIT
        exchange.allowance = await self._rate_limits.take(window_name(workspace, key.id), limit, now)
        if not exchange.allowance.allowed:
            raise TooManyRequests(exchange.allowance)

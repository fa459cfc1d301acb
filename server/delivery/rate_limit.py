"""The rate limit of a request: let it through or refuse it by its key's window, and tell what is left (decision 28)."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from engine.access.keys import rate_limit
from engine.access.keys.rate_limit import Allowance, MemoryWindows
from engine.access.keys.rate_limit_local import LocalWindows, WindowsUnavailable
from server.logs import LOGGER
from snapshots.problems import ParquetryError

if TYPE_CHECKING:
    from engine.access.keys.rate_limit_redis import SharedWindows

FOLDER = "_rate-limit"
"""The folder of a machine's request counts in the cache directory: no workspace can have this ID."""
RETRY_MS = 1000
"""Time after a failure of the machine's counts before they are tried again."""

_log = logging.getLogger(LOGGER)


class TooManyRequests(ParquetryError):
    """The key has used up its window (429)."""

    def __init__(self, allowance: Allowance) -> None:
        seconds = allowance.retry_after
        super().__init__(
            f"This API key may make {allowance.limit} requests in {allowance.window // 1000} seconds. "
            f"Try again in {seconds} second{'' if seconds == 1 else 's'}."
        )
        self.retry_after = seconds


class RateLimits:
    """The windows of all keys: those of this machine, and with ``url`` those of all machines as well.

    Both must let a request through. So the machine never lets more through than the limit, also while the shared
    server goes down and comes back, and a flood that the machine refuses never reaches the shared server.
    """

    def __init__(self, cache: Path, url: str | None = None) -> None:
        """``url`` is that of a Redis or Valkey, with a scheme of ``engine.access.keys.rate_limit.SHARED_SCHEMES``."""
        self._directory = cache / FOLDER
        self._url = url
        self._window = rate_limit.WINDOW_MS
        self._local: LocalWindows | None = None
        self._failed_at: int | None = None
        self._memory = MemoryWindows(self._window)
        self._shared: SharedWindows | None = None
        self.problems: dict[str, str] = {}
        """Problems for ``/readyz``, by storage: ``workers`` or ``machines``."""

    async def start(self, now: int) -> None:
        """Open the counts at ``now`` (UTC milliseconds). A storage that cannot be used is logged and tried again, and
        is never an error."""
        # Only now: a cache that is gone later on may be so with its store, which is not to be made again.
        with suppress(OSError):
            self._directory.parent.mkdir(parents=True, exist_ok=True)
        await asyncio.to_thread(self._open_local, now)
        if self._url is not None:
            from engine.access.keys.rate_limit_redis import SharedWindows  # noqa: PLC0415 - 0.2 s, for shared limits only

            self._shared = SharedWindows(self._url, self._shared_changed, window=self._window)
            await self._shared.start()

    async def stop(self) -> None:
        """Close the counts, which stay as they are."""
        if self._shared is not None:
            await self._shared.stop()
        if self._local is not None:
            self._local.close()
            self._local = None

    @property
    def is_shared(self) -> bool:
        """Whether other machines have a say."""
        return self._shared is not None

    def take_here(self, name: bytes, limit: int, now: int) -> Allowance:
        """Ask this machine for one request with the key whose window has this ``name`` (``window_name``) and whose
        limit is ``limit``, at ``now`` (UTC milliseconds). Blocks the event loop for microseconds."""
        if self._local is None and self._failed_at is not None and abs(now - self._failed_at) >= RETRY_MS:
            self._open_local(now)
        if self._local is not None:
            try:
                return self._local.take(name, limit, now)
            except WindowsUnavailable as error:
                self._local_failed(error, now)
        return self._memory.take(name, limit, now)

    async def take_everywhere(self, name: bytes, here: Allowance, now: int) -> Allowance:
        """Ask the other machines, too, for a request that is let through ``here``, without blocking the event loop."""
        everywhere = None if self._shared is None else await self._shared.take(name, here.limit)
        if everywhere is None:
            return here
        if not everywhere.allowed:
            self._give_back(name, now)
            return everywhere
        return min(everywhere, here, key=lambda allowance: allowance.remaining)

    def _give_back(self, name: bytes, now: int) -> None:
        if self._local is None:
            self._memory.give_back(name)
            return
        try:
            self._local.give_back(name)
        except WindowsUnavailable as error:
            self._local_failed(error, now)

    def _open_local(self, now: int) -> None:
        try:
            self._local = LocalWindows(self._directory, now=now, window=self._window)
        except WindowsUnavailable as error:
            self._local_failed(error, now)
            return
        self._failed_at = None
        if self.problems.pop("workers", None):
            _log.info("the rate limit is shared by all workers again")

    def _local_failed(self, error: WindowsUnavailable, now: int) -> None:
        self._failed_at = now
        if self._local is not None:
            self._local.close()
            self._local = None
        if "workers" not in self.problems:
            _log.error("%s Every worker counts requests for itself until they can.", error)
        self.problems["workers"] = "The rate limit is not shared: every worker counts requests for itself."

    def _shared_changed(self, reason: str | None) -> None:
        if reason is None:
            _log.info("the server of CMS_RATE_LIMIT_URL is back: the rate limit is shared by all machines again")
            self.problems.pop("machines", None)
            return
        _log.error("the server of CMS_RATE_LIMIT_URL is down: %s. Every machine counts requests for itself.", reason)
        self.problems["machines"] = "The rate limit is not shared: every machine counts requests for itself."

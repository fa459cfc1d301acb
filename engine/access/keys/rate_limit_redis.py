"""The rate limit across machines: sliding logs in one Redis or Valkey, asked in batches, without holding anybody up.

A script does everything in one step on the server, by the server's clock: machines whose clocks differ still share
one window, and a check is one round trip. (The `limits` library stamps requests with each client's own clock and
needs a second round trip for the numbers in the headers.) The requests that arrive while a batch is under way make
up the next one, so one connection is enough for each worker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from engine.access.keys.rate_limit import SHARED_SCHEMES, WINDOW_MS, Allowance

ANSWER_SECONDS = 0.5
"""Seconds after which a server that has not answered counts as down."""
PROBE_SECONDS = 1.0
"""Seconds between two questions to the server whether it is up."""
BATCH = 256

_PREFIX = b"parquetry:rate:"
_SCRIPT = """
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local window = tonumber(ARGV[1])
local limit = tonumber(ARGV[2])
local newest = redis.call('ZRANGE', KEYS[1], -1, -1)[1]
if newest then
  if tonumber(newest) - now > window then
    redis.call('DEL', KEYS[1])
  elseif tonumber(newest) >= now then
    now = tonumber(newest) + 1
  end
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - window))
local count = redis.call('ZCARD', KEYS[1])
local allowed = 0
if count < limit then
  allowed = 1
  count = count + 1
  local stamp = string.format('%.0f', now)
  redis.call('ZADD', KEYS[1], stamp, stamp)
  redis.call('PEXPIRE', KEYS[1], math.ceil(window / 1000) + 1000)
end
local place = math.max(0, count - limit)
local blocking = tonumber(redis.call('ZRANGE', KEYS[1], place, place)[1])
return {allowed, math.max(0, limit - count), math.ceil((blocking + window - now) / 1000)}
"""
"""KEYS: a key's log, a sorted set of instants in µs that are all different. ARGV: window in µs, limit.
Answers: let through, remaining, milliseconds until more are available."""

Question = tuple[bytes, int, "asyncio.Future[Allowance | None]"]


class SharedWindows:
    """The logs of the keys, shared by every machine that is given the same URL. To be used on one event loop."""

    def __init__(self, url: str, on_change: Callable[[str | None], None], *, window: int = WINDOW_MS) -> None:
        """``on_change`` is called with the reason when the server is found down, and with ``None`` when it is back."""
        scheme = urlsplit(url).scheme
        self._client = Redis.from_url(
            f"{SHARED_SCHEMES[scheme]}{url[len(scheme) :]}",
            socket_timeout=ANSWER_SECONDS,
            socket_connect_timeout=ANSWER_SECONDS,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
        )
        self._on_change = on_change
        self._window = window
        self._waiting: list[Question] = []
        self._sending: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._stopping = False
        self.down = False

    async def start(self) -> None:
        """Ask whether the server is up, now and once every ``PROBE_SECONDS``. A server that is down is no error."""
        await self._probe()
        self._watching = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        """Close the connection; a request that still waits is answered ``None``."""
        self._stopping = True
        for task in (self._watching, self._sending):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        await self._client.aclose()

    async def take(self, name: bytes, limit: int) -> Allowance | None:
        """Count a request of the key ``name`` at the present instant of the server's clock, if it is within the limit.

        Returns ``None`` when the server is down: immediately when that is known, else after ``ANSWER_SECONDS``.
        """
        if self.down:
            return None
        answer: asyncio.Future[Allowance | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((name, limit, answer))
        if self._sending is None:
            self._sending = asyncio.create_task(self._send())
        return await answer

    async def _send(self) -> None:
        batch: list[Question] = []
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
                found = await self._ask([(_PREFIX + name.hex().encode(), limit) for name, limit, _ in batch])
                for (_, _, answer), allowance in zip(batch, found, strict=True):
                    if not answer.done():
                        answer.set_result(allowance)
        except Exception as error:
            await self._went_down(error)
        finally:
            for _, _, answer in (*batch, *self._waiting):
                if not answer.done():
                    answer.set_result(None)
            self._waiting = []
            self._sending = None

    async def _ask(self, questions: list[tuple[bytes, int]], window: int | None = None) -> list[Allowance]:
        window = self._window if window is None else window
        async with asyncio.timeout(ANSWER_SECONDS), self._client.pipeline(transaction=False) as pipeline:
            for log, limit in questions:
                pipeline.eval(_SCRIPT, 1, log, window * 1000, limit)
            answers = await pipeline.execute(raise_on_error=False)
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer  # as the server put it; the pipeline's own error would repeat the script
        return [
            Allowance(bool(allowed), limit, remaining, min(window, reset), window)
            for (_, limit), (allowed, remaining, reset) in zip(questions, answers, strict=True)
        ]

    async def _watch(self) -> None:
        while not self._stopping:  # the client may swallow that the task was cancelled
            await asyncio.sleep(PROBE_SECONDS)
            await self._probe()

    async def _probe(self) -> None:
        # A request of its own, not a PING: a server that is full, or a replica, answers that but counts nothing.
        try:
            await self._ask([(_PREFIX + b"probe", 1_000)], window=1)
        except Exception as error:
            await self._went_down(error)
        else:
            if self.down:
                self.down = False
                self._on_change(None)

    async def _went_down(self, error: Exception) -> None:
        if not self.down:
            self.down = True
            self._on_change(str(error) or type(error).__name__)
        with suppress(Exception):  # the next attempt begins with a new connection
            await self._client.connection_pool.disconnect()

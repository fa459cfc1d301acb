"""The connections of all webhooks, on one event loop in a thread of its own; begun when the first request is made."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import Final

from engine.webhooks.post import Post, PostResult, WebhookClient, system_resolver, trusted_authorities

STOP_SECONDS: Final = 5.0
_RESOLVING: Final = 128
"""Names that are resolved at the same time: several times as many as there are tries, since a name server that does not
answer keeps its thread for longer than a try may take."""


class WebhookClientThread:
    """Makes requests for threads that wait for the answer."""

    def __init__(self, *, allow_loopback: bool) -> None:
        self._allow_loopback = allow_loopback
        self._lock = threading.Lock()
        self._stopped = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: WebhookClient | None = None
        self._resolving = ThreadPoolExecutor(_RESOLVING, "resolve")
        self._thread: threading.Thread | None = None

    def post(self, request: Post, now: int) -> PostResult:
        """Make a request and wait for its answer, which a failure is too. Raises ``CancelledError`` after ``stop``."""
        with self._lock:
            if self._stopped:
                raise CancelledError
            loop, client = self._begun()
            result = asyncio.run_coroutine_threadsafe(client.post(request, now), loop)
        return result.result()

    def stop(self) -> None:
        """Break off what is under way."""
        with self._lock:
            self._stopped = True
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._break_off)
            self._thread.join(STOP_SECONDS)
        self._resolving.shutdown(wait=False, cancel_futures=True)

    def _begun(self) -> tuple[asyncio.AbstractEventLoop, WebhookClient]:
        if self._loop is None or self._client is None:
            self._loop = asyncio.new_event_loop()
            self._client = WebhookClient(
                allow_loopback=self._allow_loopback,
                trust=trusted_authorities(),
                resolve=system_resolver(self._resolving),
            )
            # A daemon: a receiver that does not answer must not keep the process from ending.
            self._thread = threading.Thread(target=self._run, args=(self._loop,), name="webhook-posts", daemon=True)
            self._thread.start()
        return self._loop, self._client

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            loop.run_forever()
        finally:
            loop.close()

    def _break_off(self) -> None:
        loop = self._loop
        assert loop is not None  # it runs this
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        asyncio.ensure_future(asyncio.gather(*tasks, return_exceptions=True), loop=loop).add_done_callback(
            lambda _: loop.stop()
        )

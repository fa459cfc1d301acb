"""One workspace as the sender of webhooks sees it: its endpoints, what waits, and the version they are told of."""

from __future__ import annotations

from typing import Final

from engine.webhooks.dispatcher import ActiveVersion, Dispatcher
from engine.webhooks.endpoint import EndpointState
from engine.webhooks.webhooks_file import Endpoints, WebhooksFile
from server.background.served import KeptWorkspace, VersionServed
from snapshots.problems import ParquetryError
from snapshots.store.durable import StoreError

FAILED_LOOK_MS: Final = 10_000
"""Milliseconds after which a webhooks.json that could not be read is looked at again."""
FIRST_PAUSE_MS: Final = 1_000
LONGEST_PAUSE_MS: Final = 60_000
"""Milliseconds for which an endpoint is left alone after a failure of ours, such as a full disk."""


class SentWorkspace:
    """One workspace. Used by the sender's thread, but for ``busy``, ``pauses`` and ``resting``, which tries change."""

    def __init__(self, source: KeptWorkspace, file: WebhooksFile, dispatcher: Dispatcher) -> None:
        self.id = source.id
        self.source = source
        self.file = file
        self.dispatcher = dispatcher
        self.endpoints: Endpoints = ()
        self.looked_at: int | None = None
        """When webhooks.json was looked at, UTC milliseconds; ``None`` to look again."""
        self.change: str | None = None
        """The last change of the workspace that was announced in a bucket."""
        self.waiting: tuple[int, float] | None = None
        """The number of endpoints that wait and the seconds the oldest has waited, as in the metrics; ``None`` before
        they were noted."""
        self.busy: set[str] = set()
        """The endpoints to which events are being sent."""
        self.outdated: frozenset[str] = frozenset()
        """The endpoints that were busy when webhooks.json was read: the file may not have the outcome yet."""
        self.resting: dict[str, int] = {}
        """By endpoint, the instant until which it is left alone."""
        self.pauses: dict[str, int] = {}
        self._failure: str | None = None
        """Why the last look failed."""
        self._since: tuple[VersionServed, int] | None = None
        """A version that is served, and since when, UTC milliseconds: never later than now, where a clock was set back
        since."""
        self._activated: tuple[VersionServed, int] | None = None
        """A version that is served, and the instant at which it became current."""

    def look(self, now: int, pause: int | None) -> None:
        """Read webhooks.json where that was not done for ``pause`` milliseconds, or for ``None`` never. Raises
        ``StoreError`` where it cannot be read, until that is tried again after a while and succeeds.
        """
        self.outdated = frozenset(self.busy)
        if pause is None and self._failure is not None:
            pause = FAILED_LOOK_MS
        if self.looked_at is None or (pause is not None and not 0 <= now - self.looked_at < pause):
            self.looked_at, self._failure = now, None
            try:
                self.endpoints = self.file.read()
            except ParquetryError as error:
                self._failure = str(error)
        if self._failure is not None:
            raise StoreError(self._failure)

    def last_look(self, now: int) -> int:
        """Return when webhooks.json was looked at, UTC milliseconds; 0 where it is to be again, or was by a clock that
        was set back since."""
        return self.looked_at if self.looked_at is not None and self.looked_at <= now else 0

    def rest(self, endpoint_id: str, now: int) -> None:
        """Leave an endpoint alone for a while, each time for twice as long."""
        pause = min(self.pauses.get(endpoint_id, FIRST_PAUSE_MS // 2) * 2, LONGEST_PAUSE_MS)
        self.pauses[endpoint_id] = pause
        self.resting[endpoint_id] = now + pause

    def served(self, now: int, settling: int) -> ActiveVersion | None:
        """Return the version that all readers serve; ``None`` while some of them may not yet.

        ``settling`` is how many milliseconds they may lag behind this process.
        """
        served = self.source.served
        if served is None:
            return None
        since = min(self._since[1] if self._since is not None and self._since[0] == served else served.since, now)
        self._since = served, since
        if now < since + settling:
            return None
        if self._activated is None or self._activated[0] != served:
            current = self.source.workspace_store.current()
            is_current = current is not None and current.version == served.version
            self._activated = served, current.activated_at if current is not None and is_current else served.since
        return ActiveVersion(served.version, self._activated[1])


def waiting(endpoints: Endpoints, now: int) -> tuple[int, float]:
    """Return how many endpoints could not be told of a step so far, and for how many seconds the oldest has waited."""
    since = [
        one.pending.begun_at
        for one in endpoints
        if one.pending is not None and one.state is not EndpointState.ACTIVE and one.state is not EndpointState.DISABLED
    ]
    return len(since), (now - min(since)) / 1000 if since else 0.0

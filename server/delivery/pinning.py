"""Find the version and the instant to which ``X-Snapshot`` pins a request (decisions 60 and 68).

A client that sends the version and the instant of an answer again gets what was visible then: pages of a list fit
together, whatever is published meanwhile. Its key is judged as of now. It gets nothing that was not visible at some
time, nor what ceased to be a while ago.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

from engine.read.files.unusable import SnapshotUnusable
from engine.read.query.invalid_query import InvalidQuery, shown
from engine.timeline.points import Point, PointGone, parse_point
from server.delivery.lanes import Lanes, result_of
from server.workspaces.open_snapshot import OpenSnapshot
from server.workspaces.workspaces import NotReady, ServedWorkspace, Workspaces
from snapshots.store.durable import StoreError
from snapshots.store.manifest import ManifestError
from snapshots.store.store import MissingVersion
from snapshots.times import format_datetime

CLOCKS_APART_MS: Final = 1000
"""Milliseconds by which the clocks of two machines may differ that answer for one another."""


class Pinning:
    """Leases the versions that requests are pinned to."""

    def __init__(self, workspaces: Workspaces, lanes: Lanes, clock: Callable[[], int], longest: int) -> None:
        """``longest`` is how long ago an instant may be, in milliseconds."""
        self._workspaces = workspaces
        self._lanes = lanes
        self._clock = clock
        self._longest = longest

    async def point(self, header: bytes) -> Point:
        """Return the point that ``X-Snapshot`` names, once its instant is there: machines' clocks differ a little.

        Raises ``InvalidQuery`` for a malformed one and for the future.
        """
        text = header.decode("latin-1")
        try:
            point = parse_point(text)
        except ValueError as error:
            raise InvalidQuery(f"X-Snapshot: {error}, got {shown(text)}.") from None
        ahead = point.at - self._clock()
        if ahead > CLOCKS_APART_MS:
            raise InvalidQuery(f"X-Snapshot: {format_datetime(point.at)} is in the future. Send what an answer gave.")
        if ahead > 0:
            await asyncio.sleep(ahead / 1000)
        return point

    async def lease(self, workspace: str, point: Point) -> tuple[OpenSnapshot, int]:
        """Return the version of a workspace that a request is pinned to, to be released after it, and the instant that
        it reads: the last one until the point's at which the version was shown to clients.

        Raises ``PointGone``, ``NotReady`` and ``Overloaded``.
        """
        served = self._workspaces.of(workspace)
        history = served.snapshots.history
        at = None if history is None else history.shown(point.version, point.at)
        if at is None or at < self._clock() - self._longest:
            raise PointGone(point, without="X-Snapshot")
        current = served.snapshots.lease()
        if current is None:
            raise NotReady
        if current.reader.version == point.version:
            return current, at
        current.release()
        kept = served.snapshots.kept.lease(point.version)
        if kept is not None:
            return kept, at
        opening = self._lanes.submit(lambda: _opened(served, point), short=False)
        try:
            return await result_of(opening), at
        except asyncio.CancelledError:  # nobody is there any more to release it
            opening.add_done_callback(_release)
            raise


def _opened(served: ServedWorkspace, point: Point) -> OpenSnapshot:
    """Open a version that was current before."""
    try:
        opened = served.snapshots.kept.open(point.version)
    except MissingVersion:
        raise PointGone(point, without="X-Snapshot") from None
    except (StoreError, ManifestError) as error:
        raise SnapshotUnusable(str(error)) from None
    if opened is None:
        raise PointGone(point, without="X-Snapshot")
    return opened


def _release(opening: Future[OpenSnapshot]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().release()

"""``X-Snapshot`` of a request → the version and the instant that it is pinned to (decision 60).

A client that sends the version and the instant of an answer again gets what was visible then: pages of a list fit
together, whatever is published meanwhile. Its key is judged as of now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

from engine.cache.unusable import SnapshotUnusable
from engine.changes.points import Point, parse_point
from engine.query.invalid_query import InvalidQuery, shown
from server.content.lanes import Lanes, result_of
from server.workspaces.open_snapshot import OpenSnapshot
from server.workspaces.workspaces import NotReady, ServedWorkspace, Workspaces
from snapshots.problems import ParquetryError
from snapshots.store.durable import StoreError
from snapshots.store.manifest import ManifestError
from snapshots.store.store import MissingVersion
from snapshots.times import format_datetime

CLOCKS_APART_MS: Final = 1000
"""Milliseconds by which the clocks of two machines may differ that answer for one another."""


class VersionGone(ParquetryError):
    """A version is pruned, or not kept open any more (410). ``without`` is what named it."""

    def __init__(self, version: str, without: str = "X-Snapshot") -> None:
        super().__init__(f"Snapshot version {version} is no longer kept. Begin again without {without}.")


class Pinning:
    """Leases the versions that requests are pinned to."""

    def __init__(self, workspaces: Workspaces, lanes: Lanes, clock: Callable[[], int]) -> None:
        self._workspaces = workspaces
        self._lanes = lanes
        self._clock = clock

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

    async def lease(self, workspace: str, version: str) -> OpenSnapshot:
        """Return the version of a workspace that a request is pinned to, to be released after it.

        Raises ``VersionGone``, ``InvalidQuery`` for a version that was never current, ``NotReady`` and ``Overloaded``.
        """
        served = self._workspaces.of(workspace)
        current = served.snapshots.lease()
        if current is None:
            raise NotReady
        if current.reader.version == version:
            return current
        current.release()
        kept = served.snapshots.kept.lease(version)
        if kept is not None:
            return kept
        opening = self._lanes.submit(lambda: _opened(served, version), short=False)
        try:
            return await result_of(opening)
        except asyncio.CancelledError:  # nobody is there any more to release it
            opening.add_done_callback(_release)
            raise


def _opened(served: ServedWorkspace, version: str) -> OpenSnapshot:
    """Open a version that was current before."""
    if not served.snapshots.was_current(version):
        if not served.place.has(version):
            raise VersionGone(version)
        raise InvalidQuery(f"X-Snapshot: snapshot version {version} was never current. Send what an answer gave.")
    try:
        opened = served.snapshots.kept.open(version)
    except MissingVersion:
        raise VersionGone(version) from None
    except (StoreError, ManifestError) as error:
        raise SnapshotUnusable(str(error)) from None
    if opened is None:
        raise VersionGone(version)
    return opened


def _release(opening: Future[OpenSnapshot]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().release()

"""The writer of a bucket: the segments that all machines sent go into the counts and the rows of their workspaces."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from engine.views.counting.count_rows import CountsDamaged
from engine.views.gathering.layout import HINT, SPOOL, Sent, sent_views
from engine.views.gathering.segments import BucketSegments, SegmentGone
from engine.views.gathering.stored_views import FiledViews, StoredViews
from snapshots.problems import ParquetryError
from snapshots.store.changes import announce
from snapshots.store.durable import StoreError
from snapshots.store.objects import Conflict, Objects, StoreUnreachable
from snapshots.store.store import Store

FILE_MS: Final = 600_000
"""Milliseconds between two files of rows of a workspace, while views come in."""
_AT_ONCE: Final = 4
"""Workspaces that are written at the same time: most of that is waiting for the bucket."""

_log = logging.getLogger("parquetry")


class ViewGathering:
    """Writes the views of all workspaces of a bucket."""

    def __init__(
        self, objects: Objects, store: Store, work: Path, retention_days: int | None = None, *, only: str | None = None
    ) -> None:
        """``store`` is a mirror of the bucket's content, ``work`` a directory that nobody else works in.

        ``retention_days`` is the number of days for which raw rows are kept, ``None`` for ever; ``only`` is the one
        workspace that is written, ``None`` for all.
        """
        self._objects = objects
        self._store = store
        self._work = work
        self._retention_days = retention_days
        self._spool = SPOOL if only is None else f"{SPOOL}/{only}"
        self._stored: dict[str, StoredViews] = {}
        self._complaints: dict[str, str] = {}
        self._unannounced: set[str] = set()
        """Workspaces whose counts may have changed without the machines having been told."""

    def take_over(self) -> None:
        """Make the next round tell the machines to look at all counts.

        The machine that wrote until now may have been killed after changing counts and before announcing that.
        """
        self._unannounced.update(self._store.workspaces())

    def round(self, now: int, *, flush: bool = False) -> FiledViews:
        """Write what was sent; ``now`` is UTC milliseconds, ``flush`` files rows also if that was done a moment ago.

        A workspace that another machine is writing is left to it, and one whose counts are damaged is logged; raises
        ``StoreError`` when the disk or the bucket refuses, after the other workspaces.
        """
        found = sent_views(self._objects.names(self._spool))
        several = [(stored, sent) for name, sent in found.items() if (stored := self._of(name)) is not None]
        try:
            with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="write-views") as threads:
                parts = [threads.submit(self._write, stored, sent, now, flush=flush) for stored, sent in several]
            self._drop_old_rows(now)
            done = [part.result() for part in parts]
        finally:
            if self._unannounced and announce(self._objects, *self._unannounced, key=HINT):
                self._unannounced.clear()
        return FiledViews(sum(one.counted for one in done), sum(one.filed for one in done))

    def _write(self, stored: StoredViews, sent: Sent, now: int, *, flush: bool) -> FiledViews:
        segments = BucketSegments(self._objects, stored.workspace, sent)
        try:
            written = stored.write(segments, now, FILE_MS, flush=flush)
        except (Conflict, SegmentGone):
            return FiledViews()
        except CountsDamaged as error:
            self._complain(stored.workspace, str(error))
            return FiledViews()
        self._complaints.pop(stored.workspace, None)
        return written

    def _drop_old_rows(self, now: int) -> None:
        if self._retention_days is None:
            return
        for workspace in self._store.workspaces():
            where, stored = f"{workspace}: deleting old rows", self._of(workspace)
            if stored is None:
                continue
            try:
                stored.drop_old_rows(self._retention_days, now)
            except (ParquetryError, OSError) as error:
                self._complain(where, str(error), "They are kept until then.")
                if isinstance(error, StoreUnreachable):
                    raise
            else:
                self._complaints.pop(where, None)

    def _of(self, workspace: str) -> StoredViews | None:
        if workspace not in self._stored:
            try:
                workspace_store = self._store.workspace(workspace)
            except StoreError as error:
                self._complain(workspace, str(error))
                return None
            self._stored[workspace] = StoredViews(
                self._objects, workspace_store, self._work / workspace, self._unannounced.add
            )
        return self._stored[workspace]

    def _complain(self, where: str, complaint: str, until_then: str = "Its views wait in the bucket.") -> None:
        if self._complaints.get(where) != complaint:
            _log.error("%s: %s %s", where, complaint, until_then)
        self._complaints[where] = complaint

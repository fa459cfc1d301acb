"""Pull the counts of all workspaces from a bucket to this machine, when a hint says that they have changed."""

from __future__ import annotations

from typing import Final

from engine.views.collecting.spool import VIEWS
from engine.views.counting.count_rows import CountsDamaged
from engine.views.gathering.layout import HINT
from engine.views.gathering.pulled_counts import PulledCounts
from snapshots.problems import ParquetryError, raise_all
from snapshots.store.changes import changes_document
from snapshots.store.durable import StoreError, is_of_this_disk
from snapshots.store.objects import Objects
from snapshots.store.store import Store

LOOK_SECONDS: Final = 60.0
"""Seconds between two looks at a workspace that is not hinted at, the one longest not looked at first: what others than
the machine that writes have changed, as a backup brought back does, is found so."""


class CountsPulling:
    """Keeps the counts files of a mirror as they are in the bucket."""

    def __init__(self, objects: Objects, mirror: Store) -> None:
        self._objects = objects
        self._mirror = mirror
        self._hint = changes_document(objects, HINT)
        self._followed: dict[str, str | None] = {}
        self._pulled: dict[str, PulledCounts] = {}
        self._looked_at: dict[str, float] = {}
        self._turn_at: float | None = None
        self.failed: dict[str, bool] = {}
        """The workspaces whose counts could not be had the last time, and whether that is this machine's fault."""

    def round(self, moment: float) -> None:
        """Pull what has changed; ``moment`` is seconds of ``time.monotonic``.

        Raises ``StoreError`` where the bucket or the disk refuses, ``CountsDamaged`` where a file in the bucket is
        damaged, after the other workspaces: the last good counts stay.
        """
        workspaces = self._mirror.workspaces()
        try:
            marks = self._hint.read()
        except ParquetryError:
            self.failed = dict.fromkeys(workspaces, False)
            raise
        turn = None
        if self._turn_at is None or moment >= self._turn_at + LOOK_SECONDS:
            turn = min(workspaces, key=lambda workspace: self._looked_at.get(workspace, moment), default=None)
            self._turn_at = moment
        failed: list[ParquetryError] = []
        is_ours: dict[str, bool] = {}
        for workspace in workspaces:
            mark = marks.get(workspace)
            if workspace != turn and workspace in self._followed and self._followed[workspace] == mark:
                continue
            self._looked_at[workspace] = moment
            try:
                self._of(workspace).refresh()
            except (StoreError, CountsDamaged) as error:
                failed.append(error)
                is_ours[workspace] = is_of_this_disk(error)
                self._followed.pop(workspace, None)
            else:
                self._followed[workspace] = mark
        self.failed = is_ours
        raise_all(failed)

    def _of(self, workspace: str) -> PulledCounts:
        if workspace not in self._pulled:
            views = self._mirror.workspace(workspace).directory / VIEWS
            self._pulled[workspace] = PulledCounts(self._objects, workspace, views)
        return self._pulled[workspace]

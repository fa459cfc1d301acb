"""The writer of a store in a directory: it has the analysts' file follow the counts and rows that it writes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from engine.views.collecting.spool import SPOOL
from engine.views.gathering.followed_file import FollowedFile
from engine.views.gathering.spooled import SpooledSegments, adopt, writer_lock
from engine.views.gathering.stored_views import FiledViews, StoredViews
from snapshots.store.durable import writing
from snapshots.store.store import WorkspaceStore

FILE_MS: Final = 300_000
"""Milliseconds between two files of rows, while views come in: views wait in the spool for no longer."""
WORK: Final = ".counts"
"""The folder in which counts are worked on; no name with a dot is an object of the store."""


class ViewWriter:
    """Writes one workspace's views. What it knows between rounds is in the store, too: any process may do the next."""

    def __init__(self, views: Path, retention_days: int | None = None) -> None:
        """``views`` is the workspace's directory of views; raw rows are kept for ``retention_days``, ``None``: for
        ever."""
        self.views = views
        self._retention_days = retention_days
        self._work = views / WORK
        workspace_store = WorkspaceStore(views.parent.name, views.parent)
        self._stored = StoredViews(workspace_store.objects, workspace_store, self._work)
        self._file = FollowedFile(views, workspace_store, retention_days)

    @property
    def complaint(self) -> str | None:
        """The reason why the analysts' file cannot be written, while counting goes on."""
        return self._file.complaint

    def round(self, now: int, moment: float, *, wait: float = 0.0, flush: bool = False) -> FiledViews | None:
        """Write the sealed segments. Returns ``None`` when another process is the writer.

        ``now`` is UTC milliseconds, ``moment`` seconds of ``time.monotonic``. ``flush`` files rows and opens the
        analysts' file even if that was done a moment ago, and raises the file's errors; ``wait`` is the seconds to wait
        for the lock and the file. Raises ``StoreError`` when the disk refuses, ``CountsDamaged`` when the counts files
        cannot be read.
        """
        with writer_lock(self.views, wait=wait) as ours:
            if not ours:
                return None
            with writing(self.views / SPOOL):
                segments = SpooledSegments(self.views, adopt(self.views))
                written = self._stored.write(segments, now, FILE_MS, flush=flush)
                self._stored.drop_old_rows(self._retention_days, now)
                self._file.step(self._work, self._stored.state, now, moment, wait, flush=flush)
            return written

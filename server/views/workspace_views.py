"""The page views of one workspace in one worker: its spool, and the counts from which it answers."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from pathlib import Path

from engine.views.collecting.rules import ViewRules
from engine.views.collecting.spool import SpoolWriter, View
from engine.views.counting.count_files import COUNTS, TODAY
from engine.views.counting.counts import Counts, CountsFile
from server.logs import LOGGER
from server.watched_file import Signature, signature
from server.workspaces.open_snapshot import OpenSnapshot
from snapshots.model import Workspace
from snapshots.problems import ParquetryError
from snapshots.store.store import WorkspaceStore

RETRY_SECONDS = 1.0
"""Seconds from one try to make the spool's place to the next."""

_log = logging.getLogger(LOGGER)


class ViewsRefused(ParquetryError):
    """A view cannot be kept just now."""


class WorkspaceViews:
    """The page views of one workspace, in one worker."""

    def __init__(self, workspace: str, views: Path) -> None:
        self.workspace = workspace
        self.complaint: str | None = None
        """Why the counts cannot be followed, while the last good ones go on being answered."""
        self._seen: Signature = ()
        self._views = views
        self._file = CountsFile(views)
        self._rules: tuple[Workspace, ViewRules] | None = None
        self._announced: tuple[str, Workspace] | None = None
        """The version that is current and its definitions, as long as none is served."""
        self._spool: SpoolWriter | None = None
        self._retry_at = 0.0

    @property
    def counts(self) -> Counts:
        return self._file.counts

    @property
    def counts_at(self) -> int | None:
        """When the counts that are answered were written (UTC milliseconds)."""
        return self._seen[2] // 1_000_000 if self._seen else None

    def rules(self, served: OpenSnapshot | None) -> ViewRules | None:
        """Return the rules of counting of the version served; without one, of the definitions that were read."""
        if served is not None:
            definitions = served.reader.manifest.workspace
        elif self._announced is not None:
            definitions = self._announced[1]
        else:
            return None
        if self._rules is None or self._rules[0] is not definitions:
            self._rules = (definitions, ViewRules(definitions))
        return self._rules[1]

    def read_definitions(self, workspace_store: WorkspaceStore, version: str) -> None:
        """Read the definitions of a version that is current but not served yet. Raises ``ParquetryError``."""
        if self._announced is None or self._announced[0] != version:
            self._announced = (version, workspace_store.manifest(version).workspace)

    def keep(self, views: Sequence[View], now: int) -> None:
        """Write views to the spool. Raises ``StoreError``, at once again for a second after the place could not be
        made."""
        spool = self._spool
        if spool is None:
            if time.monotonic() < self._retry_at:
                raise ViewsRefused(f"{self._views} could not be written a moment ago.")
            self._retry_at = time.monotonic() + RETRY_SECONDS
            # Where the store was moved or unmounted, nobody would look for a directory in its old place.
            if not self._views.parent.is_dir():
                raise ViewsRefused(f"{self._views.parent} is gone: page views cannot be kept until it is back.")
            spool = self._spool = SpoolWriter(self._views, now)
        spool.append(*views)

    def seal(self) -> None:
        """Hand the views that came in to the writer. Raises ``StoreError``, and ``ViewsRefused`` where it is gone."""
        spool = self._spool
        if spool is None:
            return
        if not spool.directory.exists():
            self._spool, self._retry_at = None, 0.0
            spool.abandon()
            raise ViewsRefused(f"{spool.directory} is gone: the views that were still in it are not counted.")
        spool.seal()

    def close(self) -> None:
        """Hand the last views to the writer, and give up the place in the spool. Raises ``StoreError``."""
        spool, self._spool, self._retry_at = self._spool, None, float("inf")
        if spool is not None:
            spool.close()

    def refresh(self) -> None:
        """Read the counts again if they changed, or could not be read last time."""
        found = signature(self._views / COUNTS / TODAY)
        if not found or (found == self._seen and self.complaint is None):
            return
        self._seen = found
        try:
            self._file.refresh()
        except (ParquetryError, OSError) as error:
            if self.complaint != str(error):
                _log.error("%s: %s The last good counts are still used.", self.workspace, error)
            self.complaint = str(error)
        else:
            self.complaint = None

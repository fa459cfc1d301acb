"""The lines of changes that the audit log could not take when they were made: added as soon as it can be written."""

from __future__ import annotations

import logging
import threading
from typing import Final

from engine.access.audit.log import AuditLog
from server.logs import LOGGER
from snapshots.problems import ParquetryError
from snapshots.store.store import Store

LOOK_SECONDS: Final = 5.0

_log = logging.getLogger(LOGGER)


class LateAuditLines:
    """Adds the lines that wait in a store, between ``start`` and ``stop``. Any number of processes may do so at once.

    For a store in a bucket, where looking costs requests, the next change of a workspace adds them.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[str, int] = {}
        self._complaints: dict[str, str] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="late-audit-lines", daemon=True)

    def waiting(self, workspace: str) -> int:
        """Return the number of changes of a workspace that the audit log does not tell of yet."""
        return self._waiting.get(workspace, 0)

    def start(self) -> None:
        """Begin; the first look comes at once."""
        if self._store.bucket is None:
            self._thread.start()

    def stop(self) -> None:
        """End after the look that is under way."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def look(self) -> None:
        """Add the lines that wait in each workspace, and note the number of those that cannot be added."""
        for name in self._store.workspaces():
            log = AuditLog(self._store.workspace(name).objects, name)
            try:
                self._waiting[name] = log.late()
                if self._waiting[name]:
                    added = log.catch_up()
                    self._waiting[name] = 0
                    _log.info("%s: the audit log can be written again, and tells of %s more changes", name, added)
                self._complaints.pop(name, None)
            except ParquetryError as error:
                if self._complaints.get(name) != str(error):
                    _log.error("%s: changes wait for the audit log: %s", name, error)
                self._complaints[name] = str(error)

    def _run(self) -> None:
        while True:
            try:
                self.look()
            except ParquetryError as error:
                _log.debug("the audit log waits: %s", error)  # the log says elsewhere that the store cannot be read
            except Exception:
                _log.exception("looking for changes that wait for the audit log failed; it is tried again")
            if self._stopping.wait(LOOK_SECONDS):
                return

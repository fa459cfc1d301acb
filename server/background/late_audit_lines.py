"""The lines of changes that the audit log could not take when they were made: added as soon as it can be written."""

from __future__ import annotations

import logging
from typing import Final

from engine.access.audit.log import AuditLog
from server.logs import LOGGER
from snapshots.problems import ParquetryError
from snapshots.store.store import Store

LOOK_SECONDS: Final = 5.0

_log = logging.getLogger(LOGGER)


class LateAuditLines:
    """Adds the lines that wait in a store. Any number of processes may do so at once.

    For a store in a bucket, where looking costs requests, the next change of a workspace adds them.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._complaints: dict[str, str] = {}

    def look(self) -> None:
        """Add the lines that wait in each workspace, as far as they can be added. Raises ``StoreError``."""
        for name in self._store.workspaces():
            log = AuditLog(self._store.workspace(name).objects, name)
            try:
                if log.late():
                    added = log.catch_up()
                    _log.info("%s: the audit log can be written again, and tells of %s more changes", name, added)
                self._complaints.pop(name, None)
            except ParquetryError as error:
                if self._complaints.get(name) != str(error):
                    _log.error("%s: changes wait for the audit log: %s", name, error)
                self._complaints[name] = str(error)

"""The last use of keys: noted by every request, written every fifteen seconds by a thread."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from engine.access.keys.access import AccessFile
from engine.access.keys.last_use import LastUse
from server.logs import LOGGER
from snapshots.problems import ParquetryError, raise_all
from snapshots.store.store import Store

WRITE_SECONDS = 15.0
WRITES_BETWEEN_FOLDS = 240
"""The writes of an hour."""

_log = logging.getLogger(LOGGER)


class LastUseWriter:
    """Writes the uses that ``uses`` notes between ``start`` and ``stop``."""

    def __init__(self, store: Store, clock: Callable[[], int]) -> None:
        self.uses = LastUse(store.root)
        self._store = store
        self._clock = clock
        self._complaint: str | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="last-use", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Write the uses noted last, and end."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        rounds = 0
        while True:
            if rounds % WRITES_BETWEEN_FOLDS == 0:
                self._guarded(self._fold)
            stopping = self._stopping.wait(WRITE_SECONDS)
            self._guarded(self.uses.write)
            if stopping:
                return
            rounds += 1

    def _fold(self) -> None:
        failures: list[ParquetryError] = []
        for workspace in self._store.workspaces():
            try:
                access = AccessFile(self._store.workspace(workspace).directory).read()
                known = None if access is None else {key.id for key in access.keys}
                self.uses.fold(workspace, known, self._clock())
            except ParquetryError as error:
                failures.append(error)
        raise_all(failures)

    def _guarded(self, step: Callable[[], None]) -> None:
        """Take one step. A failure keeps no key from being served; a new complaint is logged once."""
        complaint = None
        try:
            step()
        except ParquetryError as error:
            complaint = f"when keys were last used cannot be written: {error}"
            if complaint != self._complaint:
                _log.warning("%s", complaint)
        except Exception:
            _log.exception("writing when keys were last used failed")
        self._complaint = complaint

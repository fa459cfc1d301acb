"""The last use of keys: noted by every request, written every fifteen seconds by a thread."""

from __future__ import annotations

import logging
import threading

from engine.access.keys.last_use import LastUse
from server.logs import LOGGER
from snapshots.problems import ParquetryError
from snapshots.store.store import Store

WRITE_SECONDS = 15.0

_log = logging.getLogger(LOGGER)


class LastUseWriter:
    """Writes the uses that ``uses`` notes between ``start`` and ``stop``."""

    def __init__(self, store: Store) -> None:
        self.uses = LastUse(store.root)
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
        while not self._stopping.wait(WRITE_SECONDS):
            self._write()
        self._write()

    def _write(self) -> None:
        """Write what is new. A failure keeps no key from being served; a new complaint is logged once."""
        complaint = None
        try:
            self.uses.write()
        except ParquetryError as error:
            complaint = f"when keys were last used cannot be written: {error}"
            if complaint != self._complaint:
                _log.warning("%s", complaint)
        except Exception:
            _log.exception("writing when keys were last used failed")
        self._complaint = complaint

"""The keys of a workspace that is served: the list in ``access.json``, or the last good one and a complaint."""

from __future__ import annotations

import logging

from engine.access.keys.access import ACCESS, ACCESS_CODEC, AccessFile, AccessList
from server.logs import LOGGER
from server.mirror.held import HeldPage
from server.watched_file import Signature, signature
from snapshots.problems import ParquetryError

_log = logging.getLogger(LOGGER)


class AccessSlot:
    """The keys of one workspace, as they were last read whole and valid. ``refresh`` is called by one thread."""

    def __init__(self, workspace: str, file: AccessFile, held_page: HeldPage | None = None) -> None:
        """``held_page`` is that of a mirror, ``None`` for a store in a directory."""
        self._held_page = held_page
        self._workspace = workspace
        self._file = file
        self._seen: Signature | None = None
        self.list: AccessList | None = None
        """The keys; ``None`` until a first one is issued."""
        self.complaint: str | None = None
        """Why the file cannot be followed, while the last good list stays in force."""

    def refresh(self) -> bool:
        """Read access.json again if it changed or could not be read last time; return whether the list is another one.

        A file that is torn, damaged, unreadable or gone changes nothing: the keys that were accepted before still are,
        and no others.
        """
        found = signature(self._file.path)
        if self._held_page is not None:
            found += self._held_page.signature()
        if found == self._seen and self.complaint is None:
            return False
        self._seen = found
        try:
            access = self._read()
        except ParquetryError as error:
            self._complain(str(error))
            return False
        if access is None and self.list is not None:
            self._complain(f"{self._file.path} is missing.")
            return False
        if self.complaint is not None:
            _log.info("%s: access.json can be read again", self._workspace)
            self.complaint = None
        changed = access != self.list
        self.list = access
        return changed

    def _read(self) -> AccessList | None:
        held = None if self._held_page is None else self._held_page.read().get(f"{self._workspace}/{ACCESS}")
        return self._file.read() if held is None else ACCESS_CODEC.decode(held, f"{self._workspace}/{ACCESS}")

    def _complain(self, complaint: str) -> None:
        kept = "The last good list of keys stays in force." if self.list else "No key is accepted until then."
        complaint = f"{complaint} {kept}"
        if complaint != self.complaint:
            _log.error("%s: %s", self._workspace, complaint)
        self.complaint = complaint

"""The versions whose entries are searched: opened from the server's cache when they are first asked for."""

from __future__ import annotations

from pathlib import Path

from engine.read.reader.kept import Kept
from engine.read.reader.reader import Reader, ReaderSettings, open_made_reader
from server.console.visit import Refused
from snapshots.store.manifest import Manifest
from snapshots.store.store import WorkspaceStore


class OpenedVersions:
    """One reader for each workspace, of the version that was asked for last. For one thread."""

    def __init__(self, cache: Path, settings: ReaderSettings) -> None:
        self._cache = cache
        self._settings = settings
        self._kept = Kept(0)
        self._readers: dict[str, Reader] = {}

    def reader(self, place: WorkspaceStore, manifest: Manifest) -> Reader:
        """Return the reader of a version, for the caller to use until it asks for the next one.

        Raises ``Refused`` as long as the server has not made the version ready: that may take it minutes.
        """
        found = self._readers.get(place.id)
        if found is not None and found.version == manifest.version and not found.is_damaged:
            return found
        version = place.snapshots / manifest.version
        opened = open_made_reader(version, manifest, self._cache, self._settings, self._kept)
        if opened is None:
            why = "The server is still preparing this snapshot version for search. Try again in a moment."
            raise Refused(503, "Not ready yet", why)
        self._readers[place.id] = opened
        if found is not None:
            found.close()
        return opened

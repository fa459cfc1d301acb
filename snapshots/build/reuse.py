"""The data files of a store's newest versions, which a build links instead of writing the same again."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from snapshots.build.cache import BuildCache, FileMark
from snapshots.build.file_plans import PlannedFile
from snapshots.build.settings import FULL, WriteSettings
from snapshots.columns import FileKind
from snapshots.problems import ParquetryError
from snapshots.search.index import search_content
from snapshots.search.reuse import OlderIndex
from snapshots.store.durable import StoreError, link_or_copy
from snapshots.store.manifest import DataFile, Manifest
from snapshots.store.store import WorkspaceStore
from snapshots.store.verification import altered

_NEWEST = 3

RecordedFile: TypeAlias = tuple[Path, DataFile]
"""A file, and its facts as the manifest records them."""


class SoundFiles:
    """The data files of a store that were found to be as they were written: one is read again only when it changed on
    the disk since then."""

    def __init__(self, cache: BuildCache) -> None:
        self._cache = cache
        self._known = cache.load_sound()
        self._met: dict[str, FileMark] = {}

    def has(self, path: Path, file: DataFile) -> bool:
        """Return whether a file agrees with its manifest."""
        try:
            mark = _mark(path)
        except OSError:
            return False
        if self._known.get(file.sha256) != mark and altered(path, file) is not None:
            return False
        self._met[file.sha256] = mark
        return True

    def add(self, path: Path, sha256: str) -> None:
        """Note a file that was just written."""
        self._met[sha256] = _mark(path)

    def save(self) -> None:
        """Remember the files met in this build, and forget all others."""
        self._cache.save_sound(self._met)


def _mark(path: Path) -> FileMark:
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


class OlderFiles:
    """The files of the newest versions and of the current one.

    With the settings ``FULL``, files of versions marked as quick are left out: the same content has the same bytes.
    """

    def __init__(self, target: WorkspaceStore, settings: WriteSettings, sound: SoundFiles) -> None:
        self._target = target
        self._sound = sound
        current = target.current()
        versions = ([current.version] if current is not None else []) + target.versions()[:_NEWEST]
        self._manifests: list[Manifest] = []
        self._found: dict[str, tuple[str, DataFile]] = {}
        for version in versions:
            try:
                manifest = target.manifest(version)
            except ParquetryError:
                continue
            if manifest.full or settings != FULL:
                self._manifests.append(manifest)
                self._found.update((file.content, (version, file)) for file in manifest.files)

    def has(self, content: str) -> bool:
        """Return whether there is a file with this content; it may be damaged."""
        return content in self._found

    def link(self, content: str, path: Path) -> DataFile | None:
        """Link the file with this content to ``path``; ``None`` when there is none. Raises ``OSError``.

        A file that differs from its manifest is not linked: damage must not spread.
        """
        version, file = self._found.get(content, ("", None))
        if file is None:
            return None
        try:
            source = self._target.bring_file(version, file)
        except StoreError:
            return None  # lost, or out of reach: it can be written
        if not self._sound.has(source, file):
            return None
        path.unlink(missing_ok=True)  # an attempt that met a damaged cache may have left one
        try:
            link_or_copy(source, path)
        except FileNotFoundError:  # a prune dropped the version meanwhile
            return None
        return file

    def indexes(self, planned: PlannedFile) -> list[tuple[RecordedFile, RecordedFile]]:
        """Return older versions of the ``planned`` file, each with its index, the current version's first."""
        found = []
        for manifest in self._manifests:
            about = (planned.api, planned.lang)
            data = {file.segment: file for file in manifest.files_of(*about)}.get(planned.segment)
            index = {file.segment: file for file in manifest.files_of(*about, FileKind.SEARCH)}.get(planned.segment)
            if data is not None and index is not None and index.content == search_content(data.content):
                with suppress(StoreError):
                    paths = [self._target.bring_file(manifest.version, file) for file in (data, index)]
                    found.append(((paths[0], data), (paths[1], index)))
        return found


def sound_index(older: list[tuple[RecordedFile, RecordedFile]]) -> OlderIndex | None:
    """Return the first index that agrees with its manifest, as does its data file; both are read whole for that."""
    for data, index in older:
        if _is_sound(*data) and _is_sound(*index):
            return OlderIndex(data[0], index[0])
    return None


def _is_sound(path: Path, file: DataFile) -> bool:
    return altered(path, file) is None

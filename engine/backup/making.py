"""Make a backup of a whole store while everything runs, in a place that may have earlier ones."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Final

import msgspec

from engine.backup import content
from engine.backup.layout import (
    BACKUPS,
    CONTENT,
    FORMAT,
    Backup,
    BackupDamaged,
    BackupFailed,
    Item,
    NamedBackup,
    SavedWorkspace,
    content_key,
    names,
    put_list,
    read_list,
)
from engine.backup.newest import Saved, note_saved
from engine.backup.views import saved_views
from snapshots.problems import ParquetryError
from snapshots.store.assets.files import has_its_name
from snapshots.store.carrying import ASSETS, DROPPED, asset_keys, for_each, listed_versions, version_folder
from snapshots.store.current import CURRENT, CURRENT_CODEC, Current
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.document import DamagedDocument
from snapshots.store.durable import StoreError, make_directory, reading, writing
from snapshots.store.manifest import MANIFEST, Manifest
from snapshots.store.objects import (
    ABSENT,
    DamagedObject,
    ListedObject,
    MissingObject,
    ObjectContent,
    Objects,
    StoreUnreachable,
)
from snapshots.store.store import Store, WorkspaceStore
from snapshots.version import PROGRAM

Progress = Callable[[str, int, int], None]
_TRIES: Final = 5
"""How often a workspace is gone through whose current version was pruned meanwhile."""
_TRIALS: Final = "_probe"
"""The folder in which it is tried what a bucket permits: some list it when it is empty again."""
_LEFTOVER_MS: Final = 24 * 3_600_000


class Made(msgspec.Struct, frozen=True):
    """The outcome of a backup."""

    named: NamedBackup
    sent: int
    """Bytes that were new in the place."""
    complaints: tuple[str, ...]
    """What could not be saved because it is damaged in the store, as sentences."""


def make_backup(
    store: Store, place: Objects, *, now: int, newest: int | None = None, progress: Progress | None = None
) -> Made:
    """Save a store into a place, begun at ``now`` (UTC milliseconds): all that was acknowledged before is in it.

    ``newest`` is the number of versions of each workspace that are saved beside the current one and the one before it,
    ``None`` for all. What is damaged in the store is left out and told. Raises ``StoreError``, and ``BackupFailed``
    where the place lacks something at the end: the place has no new backup then, and every earlier one as it was.
    """
    ids = content.workspace_ids(store)
    if not ids:
        raise BackupFailed(f"{store.location} holds no workspace, so there is nothing to save.")
    _check_place(store, place, now)
    making = _Making(store.objects, place, _newest_of(store, place), progress)
    saved = [making.workspace(store.workspace(name), newest) for name in ids]
    making.documents(content.store_documents(store.objects))
    items = tuple(sorted(making.items.values(), key=lambda item: item.key))
    making.check(items)
    backup = Backup(FORMAT, PROGRAM, store.location, now, tuple(saved), items)
    named = NamedBackup(put_list(place, backup), backup)
    # Whoever looks for it may be in another directory.
    where = str(place.root.resolve()) if isinstance(place, DirectoryObjects) else place.location
    note_saved(store.objects, Saved(named.name, where, now, len(making.complaints)))
    return Made(named, making.sent, tuple(making.complaints))


def _check_place(store: Store, place: Objects, now: int) -> None:
    """Raise ``StoreError`` where a place cannot be one of backups; make its directory, for the owner alone."""
    if isinstance(place, DirectoryObjects) and isinstance(store.objects, DirectoryObjects):
        here, there = place.root.resolve(), store.root.resolve()
        is_within = here == there or here.is_relative_to(there) or there.is_relative_to(here)
    else:
        here_url, there_url = f"{place.location.rstrip('/')}/", f"{store.location.rstrip('/')}/"
        is_within = here_url.startswith(there_url) or there_url.startswith(here_url)
    if is_within:
        raise StoreError(f"{place.location} and the store {store.location} lie in one another. Name another place.")
    others = set(place.folders("")) - {BACKUPS, CONTENT, _TRIALS}
    if others:
        raise StoreError(
            f'{place.location} holds other things ("{min(others)}"). Name an empty place, or one with backups only.'
        )
    if isinstance(place, DirectoryObjects):
        with writing(place.root):
            if not place.root.exists():
                make_directory(place.root.parent)
                place.root.mkdir(mode=0o700)
            _remove_leftovers(place.root, now)


def _remove_leftovers(root: Path, now: int) -> None:
    """Delete files that killed backups were writing a day ago or more."""
    for path in (root / CONTENT).glob("*/.*.tmp"):
        if now - path.stat().st_mtime_ns // 1_000_000 > _LEFTOVER_MS:
            path.unlink(missing_ok=True)


def _newest_of(store: Store, place: Objects) -> Mapping[str, Item]:
    """Return the objects of the newest backup of a store, by key; none where there is none that can be read."""
    for name in names(place):
        with suppress(BackupDamaged):
            backup = read_list(place, name)
            if backup.source == store.location:
                return {item.key: item for item in backup.items}
    return {}


class _Making:
    """One backup on its way."""

    def __init__(self, objects: Objects, place: Objects, before: Mapping[str, Item], progress: Progress | None) -> None:
        self._objects, self._place, self._before, self._progress = objects, place, before, progress
        self._there = self._listed()
        self._lock = Lock()
        self.items: dict[str, Item] = {}
        self.sent = 0
        self.complaints: list[str] = []

    def workspace(self, workspace_store: WorkspaceStore, newest: int | None) -> SavedWorkspace:
        """Save a workspace. Raises ``StoreError``."""
        kept, complaints = dict(self.items), list(self.complaints)
        for _ in range(_TRIES):
            saved = self._try(workspace_store, newest)
            if saved is not None:
                return saved
            self.items, self.complaints = dict(kept), list(complaints)
        raise StoreError(
            f"{workspace_store.id}: what is current was changed and pruned again and again. Run the command again."
        )

    def documents(self, keys: Iterable[str]) -> None:
        """Save documents as they are now; one that is gone is none. Raises ``StoreError``."""
        for key in keys:
            found = self._objects.read(key)
            if found is not None:
                self._keep_bytes(key, found.data)

    def check(self, items: Iterable[Item]) -> None:
        """Raise ``BackupFailed`` where the place lacks the content of an object."""
        there = self._listed()
        for item in items:
            if there.get(item.sha256) != item.bytes:
                raise BackupFailed(
                    f"{self._place.location}/{content_key(item.sha256)}, the content of {item.key}, is missing or was "
                    "changed. Run the command again: it writes what is missing."
                )

    def _listed(self) -> dict[str, int]:
        return {one.key.rpartition("/")[2]: one.bytes for one in self._place.names(CONTENT)}

    def _try(self, workspace_store: WorkspaceStore, newest: int | None) -> SavedWorkspace | None:
        """Save a workspace; ``None`` where its current version was pruned meanwhile."""
        objects, workspace = self._objects, workspace_store.id
        self.documents(one.key for one in content.before_current(objects.names(workspace)))
        document, current = self._current(workspace)
        manifests = self._manifests(workspace_store, current, newest)
        # After the manifests: whatever a version needs is there before it is one.
        listed = [one for one in content.listed(objects, workspace) if content.is_saved(one.key)]
        self._files(workspace, listed, manifests)
        whole = self._whole(workspace_store, manifests, listed)
        is_lost = current is not None and current.version not in whole
        if is_lost and self._current(workspace)[1] != current:
            return None
        if current is not None and is_lost and not any(current.version in one for one in self.complaints):
            self.complaints.append(
                f"Snapshot version {current.version} of {workspace} is current and is not in the store, so that a "
                "restored store has no current one. `cms snapshot activate` makes another one current."
            )
        if document is not None and not is_lost:
            self._keep_bytes(f"{workspace}/{CURRENT}", document.data)
        self._views(workspace_store)
        self.documents(one.key for one in content.after_content(content.listed(objects, workspace)))
        named = None if current is None or is_lost else current.version
        return SavedWorkspace(workspace, named, tuple(sorted(whole, reverse=True)))

    def _current(self, workspace: str) -> tuple[ObjectContent | None, Current | None]:
        """Return the document ``current`` and what it says; ``None`` where there is none, or a damaged one."""
        key = f"{workspace}/{CURRENT}"
        found = self._objects.read(key)
        if found is None:
            return None, None
        try:
            return found, CURRENT_CODEC.decode(found.data, f"{self._objects.location}/{key}")
        except DamagedDocument as error:
            self.complaints.append(str(error))
            return None, None

    def _manifests(
        self, workspace_store: WorkspaceStore, current: Current | None, newest: int | None
    ) -> dict[str, Manifest]:
        """Return the manifests of the versions to be saved, by version."""
        versions = listed_versions(self._objects, workspace_store.id)
        if newest is not None:
            stay = () if current is None else (current.version, *current.previous[:1])
            versions = [one for number, one in enumerate(versions) if number < newest or one in stay]
        digests = {} if current is None else current.manifests
        found = {}
        for version in versions:
            if current is not None and version in current.dropping:
                continue
            try:
                found[version] = workspace_store.manifest(version, digests)
            except StoreUnreachable:
                raise
            except ParquetryError as error:
                if workspace_store.has(version):
                    self.complaints.append(str(error))
        return found

    def _files(self, workspace: str, listed: list[ListedObject], manifests: Mapping[str, Manifest]) -> None:
        """Save all objects that never change, but for those of versions that are not to be saved."""
        data: dict[str, tuple[ListedObject, str]] = {}
        for version, manifest in manifests.items():
            for file in manifest.files:
                key = content.saved_key(workspace, version, file)
                there = content.key_in_store(self._objects, key, file.sha256)
                data[key] = ListedObject(there, file.bytes, 0), file.sha256
        of_data = {one.key for one, _ in data.values()}
        others = [
            one
            for one in listed
            if not content.is_document(one.key)
            and one.key not in of_data
            and content.version_of(one.key) in {None, *manifests}
            and not one.key.endswith(f"/{DROPPED}")
        ]
        total = sum(one.bytes for one in others) + sum(one.bytes for one, _ in data.values())
        done = 0

        def save(one: ListedObject, key: str, sha256: str | None) -> None:
            nonlocal done
            with suppress(MissingObject):  # pruned: whether it is missed is seen afterwards
                self._keep(one, key, sha256)
            with self._lock:
                done += one.bytes
            if self._progress is not None:
                self._progress(f"saving {workspace}", done, total)

        for_each(lambda key: save(data[key][0], key, data[key][1]), data)
        for_each(lambda one: save(one, one.key, None), others)

    def _whole(
        self, workspace_store: WorkspaceStore, manifests: Mapping[str, Manifest], listed: list[ListedObject]
    ) -> set[str]:
        """Return the versions of which everything was saved as recorded; drop the files of the others, and complain of
        those that are damaged in the store."""
        workspace, whole = workspace_store.id, set()
        for version, manifest in manifests.items():
            keys = {content.saved_key(workspace, version, file): file.sha256 for file in manifest.files}
            wrong = [
                key for key, sha256 in keys.items() if (item := self.items.get(key)) is None or item.sha256 != sha256
            ]
            manifest_key = f"{version_folder(workspace, version)}/{MANIFEST}"
            wrong += [key for key in (manifest_key, *asset_keys(manifest)) if key not in self.items]
            if not wrong:
                whole.add(version)
                continue
            for key in keys:
                self.items.pop(key, None)
            if workspace_store.has(version):
                self.complaints.append(
                    f"Snapshot version {version} of {workspace} was not saved: {wrong[0]} is missing or damaged in the "
                    "store. `cms snapshot verify VERSION` says more, and `cms snapshot prune VERSION` deletes it."
                )
        for one in listed:
            version_there = content.version_of(one.key)
            if version_there is not None and version_there not in whole:
                self.items.pop(one.key, None)
        return whole

    def _views(self, workspace_store: WorkspaceStore) -> None:
        """Save the page views, as they are at one instant."""

        def save(one: ListedObject) -> None:
            self._keep(one, one.key, None)

        def save_if_there(one: ListedObject) -> None:
            with suppress(MissingObject):
                save(one)

        # First those that are there already, so that little is left to be saved after that instant.
        rows_before = [one for one in self._objects.names(f"{workspace_store.id}/views") if "/views/day=" in one.key]
        for_each(save_if_there, rows_before)
        with tempfile.TemporaryDirectory(prefix="cms-backup-") as folder:
            for attempt in range(_TRIES):
                saved = saved_views(workspace_store, Path(folder, str(attempt)))
                try:
                    for_each(save, saved.rows)
                except MissingObject:  # older than CMS_VIEWS_RETENTION_DAYS by now
                    continue
                break
            else:
                raise StoreError(f"{workspace_store.id}: files of page views go all the time. Run the command again.")
            kept = {one.key for one in saved.rows}
            for one in rows_before:
                if one.key not in kept:
                    self.items.pop(one.key, None)
            for key, path in saved.documents.items():
                with reading(path):
                    self._keep_file(key, path, path.stat().st_size, 0)
            if saved.complaint is not None:
                self.complaints.append(saved.complaint)

    def _keep(self, one: ListedObject, key: str, sha256: str | None) -> None:
        """Save an object that never changes under a key of the backup; ``sha256`` is that of a data file. Nothing is
        read whose content the place is known to have."""
        known, before = sha256, self.items.get(key) or self._before.get(key)
        if known is None and before is not None and before.bytes == one.bytes:
            is_named_by_content = f"/{ASSETS}/" in key
            if is_named_by_content or (one.modified_at and before.modified_at == one.modified_at):
                known = before.sha256
        if known is not None and self._there.get(known) == one.bytes:
            self._add(Item(key, one.bytes, known, modified_at=one.modified_at))
            return
        try:
            with self._objects.as_file(one.key, one.bytes, None) as path:
                if f"/{ASSETS}/" in key and not _is_asset(key, path):
                    self.complaints.append(f"{key} was not saved: it has another content than its name says.")
                    return
                self._keep_file(key, path, one.bytes, one.modified_at)
        except DamagedObject as error:
            if sha256 is None:  # else its version is told to be damaged
                self.complaints.append(f"{error} It was not saved.")

    def _keep_bytes(self, key: str, data: bytes) -> None:
        sha256 = hashlib.sha256(data).hexdigest()
        if self._there.get(sha256) != len(data):
            self._replace_damaged(sha256)
            self._place.replace(content_key(sha256), data, ABSENT, private=True)
            self._sent(sha256, len(data))
        self._add(Item(key, len(data), sha256, content.is_private(key)))

    def _keep_file(self, key: str, path: Path, size: int, modified_at: int) -> None:
        with reading(path), path.open("rb") as opened:
            sha256 = hashlib.file_digest(opened, "sha256").hexdigest()
        if self._there.get(sha256) != size:
            self._replace_damaged(sha256)
            self._place.create_copy(content_key(sha256), path)
            self._sent(sha256, size)
        self._add(Item(key, size, sha256, modified_at=modified_at))

    def _replace_damaged(self, sha256: str) -> None:
        if sha256 in self._there:  # of another size
            self._place.delete([content_key(sha256)])

    def _sent(self, sha256: str, size: int) -> None:
        with self._lock:
            self._there[sha256] = size
            self.sent += size

    def _add(self, item: Item) -> None:
        with self._lock:
            self.items[item.key] = item


def _is_asset(key: str, path: Path) -> bool:
    with reading(path), path.open("rb") as opened:
        return has_its_name(key.rpartition("/")[2], opened)

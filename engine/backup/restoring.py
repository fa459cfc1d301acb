"""Make a store of a backup again. Nothing is touched before the whole backup was read and found to be as written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Final

from engine.access.keys.access import ACCESS, ACCESS_CODEC
from engine.administration.heartbeats import SILENT_MS, heard_readers
from engine.backup import content
from engine.backup.layout import Backup, BackupDamaged, Item, NamedBackup, content_key, find, segment_of
from engine.views.counting.count_files import TODAY
from engine.views.gathering.analysts_file import FILE
from engine.views.gathering.layout import HINT
from engine.views.gathering.layout import segment_key as sent_key
from snapshots.problems import ParquetryError
from snapshots.store.assets.use import ASSET_USE, leased_assets
from snapshots.store.carrying import AT_ONCE, FILES, for_each, version_folder
from snapshots.store.changes import announce
from snapshots.store.current import CURRENT
from snapshots.store.durable import StoreError
from snapshots.store.manifest import MANIFEST, ManifestError, decode_manifest
from snapshots.store.objects import ANY, Conflict, DamagedObject, MissingObject, Objects
from snapshots.store.store import Store

Progress = Callable[[str, int, int], None]
_MOST_NAMED: Final = 3


class NotEmpty(StoreError):
    """The store that a backup is to be restored into holds something."""


def verified(place: Objects, prefix: str | None, progress: Progress | None = None) -> NamedBackup:
    """Return the backup whose name begins with ``prefix``, without one the newest, after reading all of it.

    Raises ``NoBackup``, ``BackupDamaged`` where anything is not as written or is newer than this program reads, and
    ``StoreError``.
    """
    named = find(place, prefix)
    complaints = _complaints(place, named.backup, progress)
    if complaints:
        more = f" So {len(complaints) - _MOST_NAMED} others are." if len(complaints) > _MOST_NAMED else ""
        raise BackupDamaged(
            f"The backup {named.name} is damaged: {'; '.join(complaints[:_MOST_NAMED])}.{more} Nothing was changed. "
            "Use another backup, or another copy of this one."
        )
    _check_readable(place, named.backup)
    return named


def restore(
    place: Objects,
    named: NamedBackup,
    store: Store,
    *,
    now: int,
    force: bool = False,
    progress: Progress | None = None,
) -> int:
    """Make a store what it was when a backup was made, which ``verified`` has returned.

    With ``force``, what the store holds is replaced, and is gone; servers have to have ended before. Killed at any
    instant, the store has no current versions: ``force`` then does it again. ``now`` is UTC milliseconds. Returns the
    number of objects that the store had, and the backup does not have. Raises ``NotEmpty`` and ``StoreError``.
    """
    there = [one.key for one in store.objects.names("") if not content.is_of_others(one.key)]
    if there and not force:
        raise NotEmpty(
            f"{store.location} holds something already ({there[0]}). Name another store, or write --force: then "
            "everything in it is replaced by the backup, and what is newer is lost."
        )
    if there:
        _check_unserved(store, now)
    return _Restoring(place, store, named.backup, progress).run(there)


def _complaints(place: Objects, backup: Backup, progress: Progress | None) -> list[str]:
    done = 0

    def check(item: Item) -> str | None:
        nonlocal done
        try:
            with place.as_file(content_key(item.sha256), item.bytes, item.sha256):
                pass
        except (MissingObject, DamagedObject) as error:
            return f"{item.key}: {error}".rstrip(".")
        done += item.bytes
        if progress is not None:
            progress("verifying the backup", done, total)
        return None

    different = list({item.sha256: item for item in backup.items}.values())
    total = sum(item.bytes for item in different)
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return [complaint for complaint in threads.map(check, different) if complaint is not None]


def _check_readable(place: Objects, backup: Backup) -> None:
    """Raise ``BackupDamaged`` where this program could not serve what a backup has."""
    items = {item.key: item for item in backup.items}
    for workspace in backup.workspaces:
        keys = [f"{version_folder(workspace.id, version)}/{MANIFEST}" for version in workspace.versions]
        for key in keys:
            try:
                decode_manifest(_data(place, items[key]), key)
            except (ManifestError, KeyError) as error:
                raise BackupDamaged(f"The backup cannot be restored by this program. {error}") from None
        access = items.get(f"{workspace.id}/{ACCESS}")
        if access is not None:
            try:
                ACCESS_CODEC.decode(_data(place, access), access.key)
            except ParquetryError as error:
                raise BackupDamaged(f"The backup cannot be restored by this program. {error}") from None


def _data(place: Objects, item: Item) -> bytes:
    with place.as_file(content_key(item.sha256), item.bytes, item.sha256) as path:
        return path.read_bytes()


def _check_unserved(store: Store, now: int) -> None:
    heard = [one for one in heard_readers(store.objects) if now - one.heard_at < SILENT_MS]
    if heard:
        host = heard[0].reader.host if heard[0].reader is not None else heard[0].name
        raise StoreError(
            f"{store.location} is served by {host}, heard of {(now - heard[0].heard_at) // 1000} s ago. End the "
            f"servers first. One that was killed counts as ended {SILENT_MS // 60_000} minutes after it was last heard "
            "of."
        )


class _Restoring:
    """One backup on its way into a store."""

    def __init__(self, place: Objects, store: Store, backup: Backup, progress: Progress | None) -> None:
        self._place, self._store, self._objects = place, store, store.objects
        self._workspaces = [workspace.id for workspace in backup.workspaces]
        self._items = {self._key(item): item for item in backup.items if self._is_for_here(item.key)}
        self._progress = progress
        self._total, self._done = sum(item.bytes for item in self._items.values()), 0

    def run(self, there: Collection[str]) -> int:
        """Write all objects, and delete the others of those that are ``there``; return the number of these."""
        with ExitStack() as leases:
            # Prunes leave the files that versions share, although no manifest says yet that they are needed.
            checks = {
                f"{workspace}/{ASSET_USE}": leases.enter_context(leased_assets(self._objects, workspace, shared))
                for workspace in self._workspaces
                if (shared := [key for key in self._items if key.startswith(f"{workspace}/{FILES}/")])
            }
            return self._replaced(there, checks)

    def _replaced(self, there: Collection[str], checks: Mapping[str, Callable[[], None]]) -> int:
        """Replace what is ``there``; ``checks`` tell whether leases still hold, by the keys of their documents."""
        gone = [key for key in there if key not in self._items and key not in checks]
        # First what would make a half restored store look whole: the pointers, and what marks versions as deleted.
        self._objects.delete(key for key in there if key.count("/") == 1 and key.endswith(f"/{CURRENT}"))
        self._objects.delete(sorted(gone, key=lambda key: not key.endswith(f"/{MANIFEST}")))
        order = sorted(self._items, key=content.restoring_order)
        data = [key for key in order if self._is_created(key)]
        manifests = [key for key in data if key.endswith(f"/{MANIFEST}")]
        same = self._shared([key for key in data if not key.endswith(f"/{MANIFEST}")])
        for_each(self._create, [key for key, first in same.items() if key == first])
        for_each(lambda key: self._share(key, same[key]), [key for key, first in same.items() if key != first])
        for check in checks.values():
            check()
        for_each(self._create, manifests)
        for key in order:
            if not self._is_created(key):
                self._write(key)
        if self._store.bucket is not None:
            announce(self._store.bucket, *self._workspaces)
            announce(self._store.bucket, *self._workspaces, key=HINT)
        return len(gone)

    def _is_for_here(self, key: str) -> bool:
        """Whether an object of the backup has a place in this kind of store: the analysts' file is in directories."""
        return self._store.bucket is None or not key.rpartition("/")[2].startswith(FILE)

    def _key(self, item: Item) -> str:
        segment = segment_of(item.key)
        if segment is not None and self._store.bucket is not None:
            return sent_key(*segment)
        return content.key_in_store(self._objects, item.key, item.sha256)

    def _is_created(self, key: str) -> bool:
        """Whether an object never changes in the store."""
        name = key.rpartition("/")[2]
        is_replaced = segment_of(self._items[key].key) is not None or name == TODAY or name.startswith(FILE)
        return not is_replaced and not content.is_document(key)

    def _shared(self, keys: Collection[str]) -> dict[str, str]:
        """Return the first of these keys with the same content, by key: versions in a directory have a file in common
        under several names."""
        firsts: dict[str, str] = {}
        return {
            key: firsts.setdefault(self._items[key].sha256, key) if content.version_of(key) is not None else key
            for key in keys
        }

    def _share(self, key: str, first: str) -> None:
        try:
            self._objects.copy(first, key)
        except Conflict:  # as in ``_create``
            self._objects.delete([key])
            self._objects.copy(first, key)
        self._tell(self._items[key])

    def _create(self, key: str) -> None:
        item = self._items[key]
        with self._place.as_file(content_key(item.sha256), item.bytes, item.sha256) as path:
            try:
                self._objects.create_copy(key, path)
            except Conflict:  # what is there is damaged, or of another history
                self._objects.delete([key])
                self._objects.create_copy(key, path)
        self._tell(item)

    def _write(self, key: str) -> None:
        item = self._items[key]
        self._objects.replace(key, _data(self._place, item), ANY, private=content.is_private(key))
        self._tell(item)

    def _tell(self, item: Item) -> None:
        self._done += item.bytes
        if self._progress is not None:
            self._progress("restoring", self._done, self._total)

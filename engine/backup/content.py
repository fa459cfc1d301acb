"""Which objects of a store a backup has, and what kind each is: whatever the store holds, but for a few.

Left out is what can be made again (the readers' cache, hints, files of page views that are made of others), and what
says who is at work now (leases, servers): that would be untrue in another store.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from engine.access.expiry.ledger import LEDGER
from engine.access.keys.access import ACCESS
from engine.access.sign_in.known_browsers import DOCUMENT as SIGN_IN_SECRET
from engine.access.sign_in.sign_ins import DOCUMENT as SIGN_INS
from engine.administration.heartbeats import READERS
from engine.backup.newest import SAVED
from engine.read.materialise.part_lists import LISTS, SHARED
from engine.views.collecting.spool import VIEWS
from engine.views.gathering.layout import SPOOL
from engine.webhooks.webhooks_file import WEBHOOKS
from snapshots.store.assets.use import ASSET_USE
from snapshots.store.carrying import FILES, SNAPSHOTS, directory_key, key_in
from snapshots.store.changes import CHANGES
from snapshots.store.current import CURRENT
from snapshots.store.durable import StoreError
from snapshots.store.manifest import MANIFEST, DataFile
from snapshots.store.objects import ListedObject, Objects
from snapshots.store.store import Store

PRIVATE: Final = frozenset({ACCESS, WEBHOOKS, LEDGER, SIGN_INS, SIGN_IN_SECRET})
"""The names of the documents that are for the owner's eyes alone."""
AUDIT: Final = "audit"
_DOCUMENT_FOLDERS: Final = frozenset({AUDIT, "audit-late", "last_use"})
"""The folders of a workspace whose objects are documents, which change."""
_FIRST: Final = (WEBHOOKS, LEDGER)
"""What tells what was done with a version or key, before these: it is done again at most."""
_LAST: Final = ("audit-late", AUDIT)
"""The log, after what it tells of: a change has its line before it is made, and a late line stays until it is added."""


def workspace_ids(store: Store) -> list[str]:
    """Return the workspaces of which a store has anything, be it keys or waiting views alone, sorted. Raises
    ``StoreError``."""
    found = []
    for name in sorted({*store.objects.folders(""), *store.objects.folders(SPOOL)}):
        try:
            store.workspace(name)
        except StoreError:  # a folder that no workspace can have
            continue
        found.append(name)
    return found


def listed(objects: Objects, workspace: str) -> list[ListedObject]:
    """Return the objects of a workspace, sorted by key; in a directory, those in folders that are links, too. Raises
    ``StoreError``."""
    found = objects.names(workspace)
    seen = {one.key.split("/")[1] for one in found}
    for folder in objects.folders(workspace):
        if folder not in seen:
            found += objects.names(f"{workspace}/{folder}")
    return sorted(found, key=lambda one: one.key)


def store_documents(objects: Objects) -> list[str]:
    """Return the keys of the documents of a whole store. Raises ``StoreError``."""
    return [key for key in (SIGN_INS, SIGN_IN_SECRET) if objects.read(key) is not None]


def is_saved(key: str) -> bool:
    """Return whether an object of a workspace is in a backup by itself: all but page views, which ``views`` chooses,
    and data files that versions share, which are saved with each version."""
    _, folder, *rest = key.split("/")
    if not rest:
        return folder != ASSET_USE
    return folder not in {VIEWS, SHARED, LISTS, FILES}


def is_document(key: str) -> bool:
    """Return whether an object changes under its key."""
    _, *rest = key.split("/")
    return len(rest) <= 1 or rest[0] in _DOCUMENT_FOLDERS


def is_private(key: str) -> bool:
    """Return whether an object is for the owner's eyes alone."""
    return key.rpartition("/")[2] in PRIVATE and key.count("/") <= 1


def version_of(key: str) -> str | None:
    """Return the version of which an object is a file, ``None`` for another object."""
    parts = key.split("/")
    return parts[2] if len(parts) > 3 and parts[1] == SNAPSHOTS else None


def saved_key(workspace: str, version: str, file: DataFile) -> str:
    """Return the key that a data file of a version has in a backup, wherever it lies in the store."""
    return directory_key(workspace, version, file)


def key_in_store(objects: Objects, key: str, sha256: str) -> str:
    """Return the key in a store of an object that has ``key`` and this SHA-256 in a backup: the same in a directory. In
    a bucket, versions share the data files that they have in common."""
    return key_in(objects, key, sha256)


def before_current(listed: Iterable[ListedObject]) -> list[ListedObject]:
    """Return the documents that are to be read before ``current``."""
    return [one for one in listed if one.key.partition("/")[2] in _FIRST]


def after_content(listed: Iterable[ListedObject]) -> list[ListedObject]:
    """Return the documents that are to be read after all else, in their order."""
    found = [
        one
        for one in listed
        if is_document(one.key) and one.key.partition("/")[2] not in {*_FIRST, CURRENT} and is_saved(one.key)
    ]
    return sorted(found, key=lambda one: _LAST.index(_folder(one)) if _folder(one) in _LAST else -1)


def restoring_order(key: str) -> tuple[int, str]:
    """Sort objects so that nothing is there before what it needs: data, manifests, documents, what is current."""
    if not is_document(key):
        return (1 if key.endswith(f"/{MANIFEST}") else 0), key
    name = key.rpartition("/")[2]
    return (4 if name == CURRENT else 3 if name == ACCESS else 2), key


def is_of_others(key: str) -> bool:
    """Return whether an object of a store is no content: what servers say of themselves, and hints."""
    return key.startswith((f"{READERS}/", f"{SAVED}/", "_probe/")) or key == CHANGES


def _folder(one: ListedObject) -> str:
    return one.key.split("/")[1]

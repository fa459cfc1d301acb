"""Delete old versions of a workspace, what killed processes left, and assets that no version names.

A version that is to go is first named in the document ``current``, and a version named there is not made current: both
are changes of one document, so that one comes before the other, whoever is killed. Then the version is marked by an
empty object, which goes last; its manifest goes first. A workspace without a current version has no such document, and
no version of it goes. On a disk too full for the name, versions go without: there, whoever makes a version current
looks for its manifest afterwards, and whoever drops one at what is current.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from typing import Final, TypeAlias

import msgspec

from snapshots.store.assets.files import GRACE_SECONDS
from snapshots.store.assets.use import drop_assets
from snapshots.store.carrying import (
    ASSETS,
    DROPPED,
    FILES,
    SNAPSHOTS,
    asset_keys,
    file_keys,
    listed_versions,
    read_manifest,
    version_folder,
)
from snapshots.store.current import VERSION, Current, current_document
from snapshots.store.document import DamagedDocument
from snapshots.store.durable import StoreError
from snapshots.store.manifest import MANIFEST, ManifestError
from snapshots.store.objects import Conflict, DamagedObject, ListedObject, MissingObject, Objects, StoreUnreachable

_GRACE_MS: Final = GRACE_SECONDS * 1000

Chosen: TypeAlias = Callable[[list[str], Current | None], Collection[str]]
"""Chooses the versions to drop, given all versions of a workspace, newest first, and its ``current``: none where that
is ``None``."""


def prune(
    objects: Objects, local: Objects, workspace: str, chosen: Chosen, protected: Callable[[], Collection[str]]
) -> tuple[list[str], int]:
    """Drop the versions of a workspace that are ``chosen``, but for those that are ``protected`` by then.

    Nobody is told anything of them any more once that is begun: ``current`` forgets when they were current. Returns
    the dropped versions, newest first, and the bytes freed. ``local`` is the directory in which this machine works on
    the store, which may be the store itself; versions that the store does not have go there too, after a day. Raises
    ``StoreError``, and what ``chosen`` raises.
    """
    dropped = _claimed(objects, workspace, chosen)
    freed = 0
    manifests = {}
    for version in dropped:
        manifests[version] = objects.read(_manifest(workspace, version))
        listed = objects.names(version_folder(workspace, version))
        objects.create(_mark(workspace, version), b"")
        freed += _delete(objects, [one for one in listed if one.key.endswith(f"/{version}/{MANIFEST}")])
    for version in set(dropped) & set(protected() if dropped else ()):  # made current meanwhile
        found = manifests[version]
        if found is not None:
            objects.create(_manifest(workspace, version), found.data)
        objects.delete([_mark(workspace, version)])
        dropped.remove(version)
    versions = listed_versions(objects, workspace)
    for cleaned in (objects, local):
        left = _leftovers(cleaned, workspace, versions)
        given_back = protected() if left else ()  # by another prune, meanwhile
        freed += _delete(cleaned, [one for one in left if one.key.split("/")[2] not in given_back])
    _release(objects, workspace, dropped, versions)
    with suppress(ManifestError, DamagedObject):  # a damaged version may name any asset
        for cleaned in (objects, local):
            freed += drop_assets(cleaned, workspace, partial(_unneeded, objects, cleaned, workspace))
    return dropped, freed


def _unneeded(objects: Objects, cleaned: Objects, workspace: str) -> list[ListedObject]:
    """Return the data files that versions share, and the assets that are at least a day old, in ``cleaned``, that no
    version of the store names. Raises ``ManifestError`` and ``DamagedObject`` where a version is damaged."""
    shared = [one for one in cleaned.names(f"{workspace}/{ASSETS}") if _is_old(one)]
    if cleaned.shares_files:
        shared += cleaned.names(f"{workspace}/{FILES}")
    versions = listed_versions(objects, workspace) if shared else []
    digests = _digests(objects, workspace) if shared else {}
    named = {key for version in versions for key in _named(objects, workspace, version, digests)}
    return [one for one in shared if one.key not in named]


def _claimed(objects: Objects, workspace: str, chosen: Chosen) -> list[str]:
    """Name the versions that are to go in ``current``, and return them, newest first.

    They are those that are ``chosen``, and those that a killed prune named.
    """
    versions = listed_versions(objects, workspace)

    def claimed(found: Current | None) -> list[str]:
        going = {*chosen(versions, found), *(() if found is None else found.dropping)}
        return [version for version in versions if version in going]

    def name(found: Current | None, _: str) -> tuple[Current | None, list[str]]:
        going = claimed(found)
        if found is None or set(going) <= set(found.dropping):
            return found, going
        named = tuple(dict.fromkeys((*found.dropping, *going)))
        return msgspec.structs.replace(found.without(going), dropping=named), going

    document = current_document(objects, workspace)
    try:
        return document.edit(name)
    except (Conflict, DamagedDocument, StoreUnreachable):
        raise
    except StoreError:  # it is refused, or the disk is full and room has to be made all the same, without a name
        return claimed(document.read())


def _release(objects: Objects, workspace: str, dropped: Collection[str], versions: Collection[str]) -> None:
    """Take the names of versions that are gone out of ``current``; ``versions`` are those that are there."""

    def forget(found: Current | None, _: str) -> tuple[Current | None, None]:
        if found is None:
            return None, None
        left = tuple(version for version in found.dropping if version in versions and version not in dropped)
        return msgspec.structs.replace(found.without(dropped), dropping=left), None  # on a full disk not done before

    current_document(objects, workspace).edit(forget)


def _digests(objects: Objects, workspace: str) -> Mapping[str, str]:
    found = current_document(objects, workspace).read()
    return {} if found is None else found.manifests


def _named(objects: Objects, workspace: str, version: str, digests: Mapping[str, str]) -> list[str]:
    try:
        manifest, _ = read_manifest(objects, workspace, version, digests.get(version))
    except MissingObject:  # somebody else has dropped it meanwhile
        return []
    return [*asset_keys(manifest), *file_keys(objects, manifest)]


def _manifest(workspace: str, version: str) -> str:
    return f"{version_folder(workspace, version)}/{MANIFEST}"


def _mark(workspace: str, version: str) -> str:
    return f"{version_folder(workspace, version)}/{DROPPED}"


def _is_mark(one: ListedObject) -> bool:
    return one.key.endswith(f"/{DROPPED}")


def _leftovers(objects: Objects, workspace: str, versions: Collection[str]) -> list[ListedObject]:
    """Return the files of versions that are dropped, or were half carried a day ago or more. The marks of dropped
    versions come last."""
    folder = f"{workspace}/{SNAPSHOTS}"
    of_folder: dict[str, list[ListedObject]] = {}
    for one in objects.names(folder):
        of_folder.setdefault(one.key.split("/")[2], []).append(one)
    for name in objects.folders(folder):  # of a directory, which its last file leaves for an instant
        if VERSION.fullmatch(name):
            of_folder.setdefault(name, [ListedObject(_mark(workspace, name), 0, 0)])
    return [
        one
        for name, files in of_folder.items()
        if name not in versions and (any(map(_is_mark, files)) or all(map(_is_old, files)))
        for one in sorted(files, key=_is_mark)
    ]


def _is_old(one: ListedObject) -> bool:
    return one.modified_at < int(time.time() * 1000) - _GRACE_MS


def _delete(objects: Objects, listed: list[ListedObject]) -> int:
    if not listed:
        return 0
    freed = objects.delete(one.key for one in listed)
    return sum(one.bytes for one in listed) if freed is None else freed

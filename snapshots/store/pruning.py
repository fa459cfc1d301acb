"""Delete old versions of a workspace, what killed processes left, and assets that no version names.

A version that is to go is first named in the document ``current``, and a version named there is not made current: both
are changes of one document, so that one comes before the other, whoever is killed. Then it is marked by an empty
object: a version that is marked is none, and nobody begins to carry it; one that is on its way by then stays until it
is there. Its manifest goes first, then its files, then its name, and the mark last: in a directory at once, and in a
bucket by a later prune, once no request of anybody can arrive any more. One that is late would store a manifest without
files, or delete that of a version that was carried again.

A workspace without a current version has no such document, and no version of it goes. On a disk too full for the name,
versions go without: there, whoever makes a version current looks for its manifest afterwards, and whoever drops one at
what is current.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import TypeAlias

import msgspec

from snapshots.store.assets.files import GRACE_SECONDS
from snapshots.store.assets.use import GONE_SECONDS, carried_versions, drop_assets
from snapshots.store.carrying import (
    ASSETS,
    DROPPED,
    FILES,
    SNAPSHOTS,
    asset_keys,
    dropped_versions,
    file_keys,
    is_older,
    listed_versions,
    read_manifest,
    version_folder,
)
from snapshots.store.current import VERSION, Current, current_document
from snapshots.store.document import DamagedDocument
from snapshots.store.durable import StoreError
from snapshots.store.manifest import MANIFEST, ManifestError
from snapshots.store.objects import (
    ANY,
    Conflict,
    DamagedObject,
    ListedObject,
    MissingObject,
    Objects,
    StoreUnreachable,
)

Chosen: TypeAlias = Callable[[list[str], Current | None], Collection[str]]
"""Chooses the versions to drop, given all versions of a workspace, newest first, and its ``current``: none where that
is ``None``."""


def prune(
    objects: Objects, local: Objects, workspace: str, chosen: Chosen, protected: Callable[[], Collection[str]]
) -> tuple[list[str], int]:
    """Drop the versions of a workspace that are ``chosen``, but for those that are ``protected`` by then.

    Nobody is told anything of them any more once that is begun: ``current`` forgets when they were current. Those that
    somebody is carrying here stay named, for a later prune. Returns the dropped versions, newest first, and the bytes
    freed. ``local`` is the directory in which this machine works on the store, which may be the store itself; versions
    that the store does not have go there too, after a day. Raises ``StoreError``, and what ``chosen`` raises.
    """
    claimed = _claimed(objects, workspace, chosen)
    dropped, freed = _dropped(objects, workspace, claimed, protected) if claimed else ([], 0)
    for place in (objects, local):
        freed += _emptied(objects, place, workspace, dropped, protected)
        freed += drop_assets(place, workspace, partial(_left_half, objects, place, workspace))
    with suppress(ManifestError, DamagedObject):  # a damaged version may name any asset
        for place in (objects, local):
            freed += drop_assets(place, workspace, partial(_unneeded, objects, place, workspace))
    return dropped, freed


def _dropped(
    objects: Objects, workspace: str, claimed: Iterable[str], protected: Callable[[], Collection[str]]
) -> tuple[list[str], int]:
    """Mark versions that are to go, and delete their manifests, but for what is ``protected``, or carried here.
    Returns the versions that had one, in the same order, and the bytes freed."""
    with objects.alone(_folder(workspace)):
        manifests = {}
        for version in claimed:
            found = objects.read(_manifest(workspace, version))
            if found is not None:
                manifests[version] = found.data
                _put_mark(objects, workspace, version)
        carried = carried_versions(objects, workspace) if manifests else frozenset()
        dropped = [version for version in manifests if version not in carried]
        going = [ListedObject(_manifest(workspace, version), len(manifests[version]), 0) for version in dropped]
        freed = _delete(objects, going)
        for version in set(dropped) & set(protected() if dropped else ()):  # made current meanwhile
            objects.create(_manifest(workspace, version), manifests[version])
            objects.delete([_mark(workspace, version)])
            dropped.remove(version)
    return dropped, freed


def _emptied(
    objects: Objects,
    place: Objects,
    workspace: str,
    dropped: Collection[str],
    protected: Callable[[], Collection[str]],
) -> int:
    """Delete what there is of versions that are marked in ``place``, and then the marks behind which nothing is left,
    and nothing can arrive. Returns the bytes freed."""
    if all(files and not any(map(_is_mark, files)) for files in _folders(place, workspace).values()):
        _release(objects, workspace, dropped, ())
        return 0
    with place.alone(_folder(workspace)):
        folders = _folders(place, workspace)
        marks = {version: one for version, files in folders.items() for one in files if _is_mark(one)}
        going = [version for version in marks if len(folders[version]) > 1]
        freed, stay = 0, set[str]()
        if going:
            for version in going:
                _put_mark(place, workspace, version)
            stay |= {*carried_versions(place, workspace), *protected()}
            gone = [one for version in going if version not in stay for one in folders[version]]
            freed = _delete(place, [one for one in gone if not _is_mark(one)])
        spent = [version for version, files in folders.items() if not files]
        for version, mark in marks.items():
            has_arrived = not place.loses_answers or (version not in going and is_older(mark, GONE_SECONDS))
            if has_arrived and version not in stay:
                spent.append(version)
        # Before the marks: a version that is carried again once its mark is gone is none that is to go.
        _release(objects, workspace, dropped, spent if place is objects else ())
        _delete(place, [ListedObject(_mark(workspace, version), 0, 0) for version in spent])
    return freed


def _put_mark(objects: Objects, workspace: str, version: str) -> None:
    """Mark a version as being deleted: where requests may arrive late, as of now, since those of this prune may arrive
    for as long from now on."""
    if objects.loses_answers:
        objects.replace(_mark(workspace, version), b"", ANY)
    else:
        objects.create(_mark(workspace, version), b"")


def _folders(place: Objects, workspace: str) -> dict[str, list[ListedObject]]:
    """Return what there is in the folder of each version, by version; nothing for the empty folder that its last file
    leaves in a directory for an instant."""
    found: dict[str, list[ListedObject]] = {}
    for one in place.names(_folder(workspace)):
        found.setdefault(one.key.split("/")[2], []).append(one)
    for name in () if place.loses_answers else place.folders(_folder(workspace)):
        if VERSION.fullmatch(name):
            found.setdefault(name, [])
    return found


def _left_half(objects: Objects, place: Objects, workspace: str) -> list[ListedObject]:
    """Return the files of versions that were half carried to ``place`` a day ago or more."""
    folders = _folders(place, workspace)
    versions = listed_versions(objects, workspace)
    return [
        one
        for version, files in folders.items()
        if version not in versions
        and not any(map(_is_mark, files))
        and all(is_older(one, GRACE_SECONDS) for one in files)
        for one in files
    ]


def _unneeded(objects: Objects, cleaned: Objects, workspace: str) -> list[ListedObject]:
    """Return the data files that versions share, and the assets that are at least a day old, in ``cleaned``, that no
    version of the store names. Raises ``ManifestError`` and ``DamagedObject`` where a version is damaged."""
    shared = [one for one in cleaned.names(f"{workspace}/{ASSETS}") if is_older(one, GRACE_SECONDS)]
    if cleaned.shares_files:
        shared += cleaned.names(f"{workspace}/{FILES}")
    versions = listed_versions(objects, workspace) if shared else []
    digests = _digests(objects, workspace) if shared else {}
    named = {key for version in versions for key in _named(objects, workspace, version, digests)}
    return [one for one in shared if one.key not in named]


def _claimed(objects: Objects, workspace: str, chosen: Chosen) -> list[str]:
    """Name the versions that are to go in ``current``, and return them, newest first.

    They are those that are ``chosen``, and those that earlier prunes named.
    """
    versions = listed_versions(objects, workspace)

    def claimed(found: Current | None) -> list[str]:
        return sorted({*chosen(versions, found), *(() if found is None else found.dropping)}, reverse=True)

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


def _release(objects: Objects, workspace: str, dropped: Collection[str], spent: Collection[str]) -> None:
    """Take the names of versions that are gone out of ``current``, and of those of which only a mark is left that is
    ``spent``."""

    def forget(found: Current | None, _: str) -> tuple[Current | None, None]:
        if found is None:
            return None, None
        there: set[str] = set()
        if found.dropping:
            there = {*listed_versions(objects, workspace), *dropped_versions(objects, workspace)} - {*spent}
        left = tuple(version for version in found.dropping if version in there)
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


def _folder(workspace: str) -> str:
    return f"{workspace}/{SNAPSHOTS}"


def _manifest(workspace: str, version: str) -> str:
    return f"{version_folder(workspace, version)}/{MANIFEST}"


def _mark(workspace: str, version: str) -> str:
    return f"{version_folder(workspace, version)}/{DROPPED}"


def _is_mark(one: ListedObject) -> bool:
    return one.key.endswith(f"/{DROPPED}")


def _delete(objects: Objects, listed: list[ListedObject]) -> int:
    if not listed:
        return 0
    freed = objects.delete(one.key for one in listed)
    return sum(one.bytes for one in listed) if freed is None else freed

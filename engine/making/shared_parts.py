"""Parts of the reader's cache in the store: pushed by who made them first, fetched by all others (design section 4).

<workspace>/cache/layout-<n>/<part>/part.json               the part's files with sizes and SHA-256; written last
<workspace>/cache/layout-<n>/<part>/<digest>.<file>         one of them; two makers of one part write different bytes
"""

from __future__ import annotations

import hashlib
import secrets
import shutil
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from engine.cache.parts import Part, parts_of
from engine.cache.places import LAYOUT, LAYOUTS, CachePlaces, bodies_file, search_file, tables_file
from engine.making.materialise import adopt
from engine.making.opening import opened_version
from engine.making.settings import MaterialiseSettings
from snapshots.store.durable import make_directory, reading, sync_directory, writing
from snapshots.store.manifest import Manifest
from snapshots.store.objects import ABSENT, Conflict, DamagedObject, MissingObject, Objects
from snapshots.store.store import WorkspaceStore

SHARED: Final = "cache"
"""The folder of a workspace's parts in the store."""
_LIST: Final = "part.json"
_FETCHED: Final = ".fetched-"
_AT_ONCE: Final = 4


class _File(msgspec.Struct, frozen=True):
    name: str
    bytes: int
    sha256: str

    @property
    def key(self) -> str:
        """The last part of the key."""
        return f"{self.sha256[:16]}.{self.name}"


class _PartFiles(msgspec.Struct, frozen=True):
    files: tuple[_File, ...]


# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decoder: Final = msgspec.json.Decoder(_PartFiles)


def fetch_parts(
    objects: Objects, workspace: str, places: CachePlaces, version: str, parts: Sequence[Part]
) -> list[Part]:
    """Fetch the parts of a version that the cache does not have, as far as they are in the store; return the others.

    A part that is missing there or damaged is one that the reader makes itself. Raises ``StoreError`` where the store
    or the disk fails, and ``SnapshotUnusable`` where the cache cannot be written.
    """
    wanted = [part for part in parts if not places.part(part.name).exists()]
    there = _shared(objects, workspace) if wanted else set()
    with writing(places.workspace):
        make_directory(places.workspace)
        for left in places.workspace.glob(f"{_FETCHED}*"):
            shutil.rmtree(left, ignore_errors=True)
        scratch = places.workspace / f"{_FETCHED}{secrets.token_hex(4)}"
        scratch.mkdir()
    try:

        def fetch(part: Part) -> None:
            with suppress(MissingObject, DamagedObject):
                _fetch(objects, _folder(workspace, part.name), scratch / part.name)

        with ThreadPoolExecutor(_AT_ONCE) as threads:
            list(threads.map(fetch, [part for part in wanted if part.name in there]))
        adopt(places, scratch, version, parts)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return [part for part in parts if not places.part(part.name).exists()]


def make_and_push(place: WorkspaceStore, places: CachePlaces, version: str) -> int:
    """Open a version, making what the cache has not or cannot open, and put its parts into the store where that is a
    bucket: then no reader makes them. Return how many were put there. Raises ``StoreError`` and as ``opened_version``.
    """
    directory, manifest = place.bring(version), place.manifest(version)
    settings, of_apis = MaterialiseSettings(), parts_of(manifest)
    opened_version(directory, manifest, places, of_apis, settings.memory, settings).close()
    if place.bucket is None:
        return 0
    return push_parts(place.bucket, place.id, places, [part for of_api in of_apis.values() for part in of_api])


def push_parts(objects: Objects, workspace: str, places: CachePlaces, parts: Iterable[Part]) -> int:
    """Put the parts into the store that it does not have; return how many those were.

    Killed at any instant it leaves parts that are whole, and files that no part names. Raises ``StoreError``.
    """
    there = _shared(objects, workspace)
    pushed = 0
    for part in parts:
        if part.name not in there:
            _push(objects, _folder(workspace, part.name), places.part(part.name))
            pushed += 1
    return pushed


def drop_shared(objects: Objects, workspace: str, kept: Iterable[Manifest]) -> int:
    """Delete from the store the parts that none of the versions ``kept`` needs, and those of older programs; return the
    bytes freed. Raises ``StoreError``."""
    needed = {part.name for manifest in kept for of_api in parts_of(manifest).values() for part in of_api}
    doomed = []
    for one in objects.names(f"{workspace}/{SHARED}"):
        _, _, layout, *rest = one.key.split("/")
        number = layout.removeprefix(LAYOUTS)
        if number.isdecimal() and (int(number) < LAYOUT or (int(number) == LAYOUT and rest[0] not in needed)):
            doomed.append(one)
    # Without its list first, so that no part is taken for a whole one meanwhile.
    objects.delete(one.key for one in sorted(doomed, key=lambda one: not one.key.endswith(f"/{_LIST}")))
    return sum(one.bytes for one in doomed)


def _folder(workspace: str, part: str) -> str:
    return f"{workspace}/{SHARED}/{LAYOUTS}{LAYOUT}/{part}"


def _shared(objects: Objects, workspace: str) -> set[str]:
    """The names of the parts in the store."""
    listed = objects.names(f"{workspace}/{SHARED}/{LAYOUTS}{LAYOUT}")
    return {one.key.split("/")[-2] for one in listed if one.key.endswith(f"/{_LIST}")}


def _fetch(objects: Objects, folder: str, directory: Path) -> None:
    """Download a part; the directory is there only if it is whole."""
    found = objects.read(f"{folder}/{_LIST}")
    try:
        files = () if found is None else _decoder.decode(found.data).files
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedObject(f"{objects.location}/{folder}/{_LIST}: damaged: {error}.") from None
    if {file.name for file in files} != {path.name for path in _paths(directory)}:
        raise MissingObject(f"{objects.location}/{folder} has not the files of a part.")
    unfinished = directory.with_name(f".{directory.name}")
    with writing(unfinished):
        unfinished.mkdir()
    for file in files:
        objects.fetch(f"{folder}/{file.key}", unfinished / file.name, file.bytes, file.sha256)
    with writing(directory):
        sync_directory(unfinished)
        unfinished.replace(directory)


def _push(objects: Objects, folder: str, directory: Path) -> None:
    files = []
    for path in _paths(directory):
        with reading(path), path.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
            files.append(_File(path.name, opened.tell(), digest))
        objects.create(f"{folder}/{files[-1].key}", path)
    try:
        objects.replace(f"{folder}/{_LIST}", msgspec.json.encode(_PartFiles(tuple(files))) + b"\n", ABSENT)
    except Conflict:  # somebody else was quicker, with a part that is as good
        found = objects.read(f"{folder}/{_LIST}")
        named: Collection[str] = () if found is None else {file.key for file in _decoder.decode(found.data).files}
        objects.delete(f"{folder}/{file.key}" for file in files if file.key not in named)


def _paths(part: Path) -> tuple[Path, ...]:
    return (tables_file(part), bodies_file(part), search_file(part))

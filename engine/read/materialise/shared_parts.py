"""Parts of the reader's cache in the store: pushed by a version's builder, fetched by readers (design section 4)."""

from __future__ import annotations

import hashlib
import secrets
import shutil
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final

from engine.read.files.parts import Part, every_part, parts_of
from engine.read.files.paths import LAYOUT, LAYOUTS, CachePaths, bodies_file, search_file
from engine.read.materialise.materialise import adopt
from engine.read.materialise.opening import opened_version
from engine.read.materialise.part_lists import (
    LISTS,
    SHARED,
    PartFile,
    PartFiles,
    decode_list,
    encode_list,
    list_key,
    part_folder,
    read_list,
    whole_parts,
)
from engine.read.materialise.settings import MaterialiseSettings
from snapshots.store.durable import make_directory, reading, sync_directory, writing
from snapshots.store.manifest import Manifest
from snapshots.store.objects import ABSENT, Conflict, DamagedObject, MissingObject, Objects
from snapshots.store.store import WorkspaceStore

_FETCHED: Final = ".fetched-"
_AT_ONCE: Final = 4
MADE_HERE: Final = 4
"""Parts that a reader makes itself rather than fetch them: their files are some times as large as the data files that
they are made from, which it has, in less than a second each."""
_PUSHES: Final = 3
"""How often a builder puts parts into the store that others list otherwise, or delete, meanwhile."""


def fetch_parts(objects: Objects, manifest: Manifest, paths: CachePaths) -> list[Part]:
    """Fetch the parts of a version that the cache does not have, where those are more than ``MADE_HERE`` and as far as
    builders have put them into the store; return the others.

    A part that is missing there or not as it is listed is one that the reader makes itself. Raises ``StoreError`` where
    the store or the disk fails, and ``SnapshotUnusable`` where the cache cannot be written.
    """
    workspace, parts = manifest.workspace.id, parts_of(manifest)
    wanted = [part for part in every_part(parts) if not paths.part(part.name).exists()]
    listed = read_list(objects, list_key(workspace, manifest.version)) if len(wanted) > MADE_HERE else {}
    with writing(paths.workspace):
        make_directory(paths.workspace)
        for left in paths.workspace.glob(f"{_FETCHED}*"):
            shutil.rmtree(left, ignore_errors=True)
        scratch = paths.workspace / f"{_FETCHED}{secrets.token_hex(4)}"
        scratch.mkdir()
    try:

        def fetch(part: Part) -> None:
            with suppress(MissingObject, DamagedObject):
                _fetch(objects, part_folder(workspace, part.name), listed[part.name], scratch / part.name)

        with ThreadPoolExecutor(_AT_ONCE) as threads:
            list(threads.map(fetch, [part for part in wanted if part.name in listed]))
        adopt(paths, scratch, manifest.version, parts)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return [part for part in every_part(parts) if not paths.part(part.name).exists()]


def make_and_push(workspace_store: WorkspaceStore, paths: CachePaths, version: str) -> int:
    """Open a version, making what the cache has not or cannot open, and put its parts into the store where that is a
    bucket: then no reader makes them. Return how many were put there. Raises ``StoreError`` and as ``opened_version``.
    """
    directory, manifest = workspace_store.bring(version), workspace_store.manifest(version)
    settings = MaterialiseSettings()
    opened_version(directory, manifest, paths, parts_of(manifest), settings.memory, settings).close()
    return 0 if workspace_store.bucket is None else push_parts(workspace_store.bucket, manifest, paths)


def push_parts(objects: Objects, manifest: Manifest, paths: CachePaths) -> int:
    """List the parts of a version, all of which the cache has, and put those into the store that no builder has put
    there; return how many those were.

    Killed at any instant it leaves files that the version's list names, and a list that names some that are not there,
    which the next push of the version adds. Raises ``StoreError``.
    """
    workspace, names = manifest.workspace.id, {part.name for part in every_part(parts_of(manifest))}
    pushed: set[str] = set()
    for _ in range(_PUSHES):
        there = {one.key: one.bytes for one in objects.names(f"{workspace}/{SHARED}/{LAYOUTS}{LAYOUT}")}
        found = objects.read(list_key(workspace, manifest.version))
        whole = whole_parts(workspace, decode_list(found) or {}, there)
        missing = names - whole.keys()
        if not missing:
            break
        whole |= _of_other_versions(objects, manifest, missing, there)
        made = {name: _part_files(paths.part(name)) for name in sorted(missing - whole.keys())}
        listed = encode_list({name: made[name] if name in made else whole[name] for name in names})
        try:
            objects.replace(list_key(workspace, manifest.version), listed, ABSENT if found is None else found.tag)
        except Conflict:  # another builder of this version
            continue
        for name, files in made.items():
            _push(objects, part_folder(workspace, name), paths.part(name), files)
        pushed |= made.keys()
    return len(pushed)


def _of_other_versions(
    objects: Objects, manifest: Manifest, wanted: Collection[str], there: Mapping[str, int]
) -> PartFiles:
    """Return those of the parts ``wanted`` that a builder of another version has put into the store."""
    workspace = manifest.workspace.id
    begun = {key.split("/")[3] for key in there}.intersection(wanted)
    found: PartFiles = {}
    for one in reversed(objects.names(f"{workspace}/{LISTS}/{LAYOUTS}{LAYOUT}")):  # the newest first
        if begun <= found.keys():
            break
        listed = read_list(objects, one.key)
        found |= whole_parts(workspace, {name: listed[name] for name in begun & listed.keys()}, there)
    return found


def _fetch(objects: Objects, folder: str, files: Sequence[PartFile], directory: Path) -> None:
    """Download a part; the directory is there only if it is whole."""
    if {file.name for file in files} != {path.name for path in _paths(directory)}:
        raise MissingObject(f"{objects.location}/{folder} has not the files of a part.")
    unfinished = directory.with_name(f".{directory.name}")
    with writing(unfinished):
        unfinished.mkdir()
    for file in files:
        objects.fetch(f"{folder}/{file.object_name}", unfinished / file.name, file.bytes, file.sha256)
    with writing(directory):
        sync_directory(unfinished)
        unfinished.replace(directory)


def _push(objects: Objects, folder: str, directory: Path, files: Sequence[PartFile]) -> None:
    for path, file in zip(_paths(directory), files, strict=True):
        key = f"{folder}/{file.object_name}"
        try:
            objects.create(key, path)
        except Conflict:  # it is named by its content, so what is there is damaged
            objects.delete([key])
            objects.create(key, path)


def _part_files(directory: Path) -> tuple[PartFile, ...]:
    files = []
    for path in _paths(directory):
        with reading(path), path.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
            files.append(PartFile(path.name, opened.tell(), digest))
    return tuple(files)


def _paths(part: Path) -> tuple[Path, ...]:
    return (bodies_file(part), search_file(part))

"""Parts of the reader's cache in the store, compared with their lists, and those deleted that are in no list."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Final, TypeAlias

from engine.read.files.parts import every_part, parts_of
from engine.read.files.paths import LAYOUT
from engine.read.materialise.part_lists import LISTS, SHARED, decode_list, file_keys, layout_of, list_key, read_list
from snapshots.store.manifest import Manifest
from snapshots.store.objects import DamagedObject, MissingObject
from snapshots.store.store import WorkspaceStore

_LOOKS: Final = 3
"""How often it is computed what to delete while builders write lists."""

Progress: TypeAlias = Callable[[str, int, int], None]


def drop_shared(workspace_store: WorkspaceStore) -> int:
    """Delete from the store the lists of versions that are gone, and all files of parts that no list has: of dropped
    versions, of killed builders and of older programs. Return the bytes freed. Raises ``StoreError``."""
    objects, workspace = workspace_store.objects, workspace_store.id
    for _ in range(_LOOKS):
        files = objects.names(f"{workspace}/{SHARED}")  # before the lists: what is put there from now on is not in it
        lists = objects.names(f"{workspace}/{LISTS}")
        versions = workspace_store.versions()  # after the lists: a version is in the store before its parts are listed
        kept = [one for one in lists if layout_of(one.key) >= LAYOUT and PurePosixPath(one.key).stem in versions]
        named = {
            key
            for one in kept
            if layout_of(one.key) == LAYOUT
            for key, _ in file_keys(workspace, read_list(objects, one.key))
        }
        doomed = [one for one in files if layout_of(one.key) <= LAYOUT and one.key not in named]
        if objects.names(f"{workspace}/{LISTS}") == lists:  # else a builder lists, perhaps, what was doomed
            objects.delete(one.key for one in lists if one not in kept)
            objects.delete(one.key for one in doomed)
            return sum(one.bytes for one in doomed)
    return 0


def shared_complaints(workspace_store: WorkspaceStore, manifest: Manifest, progress: Progress) -> list[str] | None:
    """Return a sentence for each file of a version's parts that is not as it is listed; ``None`` where no builder has
    listed any. ``progress`` is called as by ``WorkspaceStore.verify``. Raises ``StoreError``."""
    list_name = list_key(workspace_store.id, manifest.version)
    found = workspace_store.objects.read(list_name)
    if found is None:
        return None
    listed = decode_list(found)
    if listed is None:
        return [f"{list_name}: is damaged"]
    named = {part.name for part in every_part(parts_of(manifest))}
    complaints = [f"{list_name}: does not list the part {part}" for part in sorted(named - listed.keys())]
    files = list(file_keys(workspace_store.id, {part: listed[part] for part in sorted(named & listed.keys())}))
    done, total = 0, sum(file.bytes for _, file in files)
    for key, file in files:
        progress("verifying the readers' cache", done, total)
        done += file.bytes
        try:
            with workspace_store.objects.as_file(key, file.bytes, file.sha256):
                pass
        except MissingObject:
            complaints.append(f"{key}: is missing")
        except DamagedObject as error:
            complaints.append(str(error))
    return complaints

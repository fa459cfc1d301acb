"""Planned data files → Parquet in a staged version: linked where unchanged, written on every core where not."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from snapshots.compile_files import end_with_parent, pool, run_all
from snapshots.durable import link_or_copy, writing
from snapshots.groups import Group
from snapshots.manifest import DataFile, FileKind
from snapshots.parquet import write_parquet
from snapshots.problems import ParquetryError
from snapshots.quick_files import QuickFiles
from snapshots.search_index import indexed_fields, search_content, write_search_index
from snapshots.staging import Staging
from snapshots.store import WorkspaceStore

POOL_BYTES = 96 << 20
"""From so many bytes of JSON on, starting processes costs less than it saves."""


Made = TypeVar("Made")


class CacheUnreadable(Exception):
    """A chunk of the build cache cannot be read."""


def write_groups(
    planned: list[Group],
    target: WorkspaceStore,
    staging: Staging,
    progress: Callable[[str, int, int], None],
    quick: QuickFiles | None = None,
) -> list[DataFile]:
    """Put every planned file into the staged version; say what each holds. With ``quick``, those of a quick version.

    Raises ``StoreError`` when the store cannot be written, ``CacheUnreadable`` when compiled rows are lost.
    """
    older = _older_files(target, quick)
    files: list[DataFile] = []
    to_write: list[tuple[Group, Path]] = []
    is_sound = _is_sound if quick is None else quick.is_sound
    with writing(staging.directory):
        for group in planned:
            place = staging.directory / group.path
            place.parent.mkdir(parents=True, exist_ok=True)
            same = older.get(group.content)
            if same is not None and _linked(target.path(same[0], same[1].path), place, same[1], is_sound):
                files.append(_data_file(group, same[1].bytes, same[1].sha256))
                if quick is not None:
                    quick.linked(group.path, same[1].sha256, target.path(staging.version, group.path))
            else:
                to_write.append((group, place))
        if quick is not None:
            return files + _quick_files(to_write, target, staging.version, progress, quick)
        for (group, _), (size, digest) in zip(
            to_write, _on_all_cores("writing", _write, to_write, progress), strict=True
        ):
            files.append(_data_file(group, size, digest))
        files += _search_indexes(planned, older, target, staging, progress)
    return files


def _quick_files(
    to_write: list[tuple[Group, Path]],
    target: WorkspaceStore,
    version: str,
    progress: Callable[[str, int, int], None],
    quick: QuickFiles,
) -> list[DataFile]:
    """Files of a quick version. One after the other: mostly a single row group is written at all."""
    files: list[DataFile] = []
    total, done = sum(group.rows for group, _ in to_write), 0
    for group, place in to_write:
        published = target.path(version, group.path)
        tell = partial(_tell_more, progress, done, total)
        try:
            size, digest = quick.write(group.path, group.plan, group.chunks, place, published, tell)
        except (pa.ArrowInvalid, FileNotFoundError) as error:
            raise CacheUnreadable(str(error)) from None
        files.append(_data_file(group, size, digest))
        done += group.rows
    return files


def _tell_more(progress: Callable[[str, int, int], None], before: int, total: int, more: int) -> None:
    progress("writing", before + more, total)


def _search_indexes(
    planned: list[Group],
    older: dict[str, tuple[str, DataFile]],
    target: WorkspaceStore,
    staging: Staging,
    progress: Callable[[str, int, int], None],
) -> list[DataFile]:
    """The indexes of the published files, which are in their places: linked where those are unchanged."""
    files: list[DataFile] = []
    to_index: list[tuple[Group, Path]] = []
    for group in planned:
        if group.kind is FileKind.PUBLISHED and indexed_fields(group.api):
            same = older.get(search_content(group.content))
            place = _index_place(group, staging.directory)
            if same is not None and _linked(target.path(same[0], same[1].path), place, same[1], _is_sound):
                files.append(_index_file(group, same[1].rows, same[1].bytes, same[1].sha256))
            else:
                to_index.append((group, staging.directory))
    for (group, _), made in zip(to_index, _on_all_cores("indexing", _index, to_index, progress), strict=True):
        files.append(_index_file(group, *made))
    return files


def _index(item: tuple[Group, Path]) -> tuple[int, int, str]:
    """Write the index of one file; return its records, bytes and SHA-256."""
    group, directory = item
    place = _index_place(group, directory)
    records = write_search_index(directory / group.path, indexed_fields(group.api), place)
    with place.open("rb") as file:
        return records, place.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()


def _index_place(group: Group, directory: Path) -> Path:
    return directory / group.lang / f"{group.api.endpoint}.search.parquet"


def _index_file(group: Group, records: int, size: int, digest: str) -> DataFile:
    return DataFile(
        path=f"{group.lang}/{group.api.endpoint}.search.parquet",
        api=group.api.uid,
        lang=group.lang,
        kind=FileKind.SEARCH,
        rows=records,
        bytes=size,
        sha256=digest,
        content=search_content(group.content),
    )


def _on_all_cores(
    what: str,
    work: Callable[[tuple[Group, Path]], Made],
    items: list[tuple[Group, Path]],
    progress: Callable[[str, int, int], None],
) -> list[Made]:
    """What ``work`` returns for each item, in their order."""
    total = sum(_size(item) for item in items)
    progress(what, 0, total)

    def tell(done: int, of: int) -> None:
        progress(what, done, of)

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if len(items) < 2 or cores == 1 or total < POOL_BYTES:
        written = []
        done = 0
        for item in items:
            written.append(work(item))
            done += _size(item)
            tell(done, total)
        return written
    largest_first = sorted(items, key=_size, reverse=True)
    with pool(min(cores, len(items)), end_with_parent, ()) as executor:
        results = run_all(executor, work, largest_first, _size, tell)
    by_path = {group.path: result for (group, _), result in zip(largest_first, results, strict=True)}
    return [by_path[group.path] for group, _ in items]


def _size(item: tuple[Group, Path]) -> int:
    return int(item[0].plan.size.sum())


def _write(item: tuple[Group, Path]) -> tuple[int, str]:
    """Write one file; return its bytes and SHA-256."""
    group, place = item
    try:
        write_parquet(group.plan, group.chunks, place)
    except (pa.ArrowInvalid, FileNotFoundError) as error:
        raise CacheUnreadable(str(error)) from None
    with place.open("rb") as file:
        return place.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()


def _older_files(target: WorkspaceStore, quick: QuickFiles | None) -> dict[str, tuple[str, DataFile]]:
    """Content hash → (version, file), over the newest versions and the current one.

    Those of quick versions are for quick versions only: their bytes are not what the content alone gives.
    """
    current = target.current()
    versions = target.versions()[:3] + ([current.version] if current is not None else [])
    found: dict[str, tuple[str, DataFile]] = {}
    for version in versions:
        try:
            manifest = target.manifest(version)
        except ParquetryError:
            continue
        if manifest.full or quick is not None:
            found.update((file.content, (version, file)) for file in manifest.files)
    return found


def _linked(source: Path, place: Path, file: DataFile, is_sound: Callable[[Path, str], bool]) -> bool:
    """Link an older file in, but only if it is still what its manifest says: damage must not spread."""
    if not is_sound(source, file.sha256):
        return False
    place.unlink(missing_ok=True)  # left by an attempt that met a damaged cache
    link_or_copy(source, place)
    return True


def _is_sound(path: Path, digest: str) -> bool:
    """Whether a file has this SHA-256."""
    try:
        with path.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest() == digest
    except OSError:
        return False


def _data_file(group: Group, size: int, digest: str) -> DataFile:
    return DataFile(
        path=group.path,
        api=group.api.uid,
        lang=group.lang,
        kind=group.kind,
        rows=group.rows,
        bytes=size,
        sha256=digest,
        content=group.content,
        scheduled=group.scheduled,
    )

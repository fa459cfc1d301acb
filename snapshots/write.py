"""Planned data files → Parquet in a staged version: linked where unchanged, written on every core where not."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from snapshots.durable import writing
from snapshots.groups import Group
from snapshots.manifest import DataFile, FileKind
from snapshots.older_files import OlderFiles
from snapshots.parquet import write_parquet
from snapshots.quick_files import QuickFiles
from snapshots.search_index import indexed_fields, search_content, write_search_index
from snapshots.search_reuse import OlderIndex
from snapshots.staging import Staging
from snapshots.store import WorkspaceStore
from snapshots.workers import Workers

POOL_BYTES = 96 << 20
"""From so many bytes of JSON on, starting processes costs less than it saves: new ones even, which have no memory of
the step before."""


Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class _Task:
    """A file to write."""

    group: Group
    place: Path
    data: Path = Path()
    """For an index, the data file it is of."""
    older: OlderIndex | None = None


class CacheUnreadable(Exception):
    """A chunk of the build cache cannot be read."""


def write_groups(
    planned: list[Group],
    target: WorkspaceStore,
    staging: Staging,
    workers: Workers,
    progress: Callable[[str, int, int], None],
    quick: QuickFiles | None = None,
) -> list[DataFile]:
    """Put every planned file into the staged version; say what each holds. With ``quick``, those of a quick version.

    Raises ``StoreError`` when the store cannot be written, ``CacheUnreadable`` when compiled rows are lost.
    """
    older = OlderFiles(target, quick)
    files: list[DataFile] = []
    to_write: list[_Task] = []
    with writing(staging.directory):
        for group in planned:
            place = staging.directory / group.path
            place.parent.mkdir(parents=True, exist_ok=True)
            same = older.link(group.content, place)
            if same is not None:
                files.append(_data_file(group, same.bytes, same.sha256))
                if quick is not None:
                    quick.linked(group.path, same.sha256, target.path(staging.version, group.path))
            else:
                to_write.append(_Task(group, place))
        if quick is not None:
            return files + _quick_files(to_write, target, staging.version, progress, quick)
        written = _on_all_cores("writing", _write, to_write, workers, progress)
        for task, (size, digest) in zip(to_write, written, strict=True):
            files.append(_data_file(task.group, size, digest))
        files += _search_indexes(planned, older, staging, workers, progress)
    return files


def _quick_files(
    to_write: list[_Task],
    target: WorkspaceStore,
    version: str,
    progress: Callable[[str, int, int], None],
    quick: QuickFiles,
) -> list[DataFile]:
    """Files of a quick version. One after the other: mostly a single row group is written at all."""
    files: list[DataFile] = []
    total, done = sum(task.group.rows for task in to_write), 0
    for task in to_write:
        group = task.group
        published = target.path(version, group.path)
        tell = partial(_tell_more, progress, done, total)
        try:
            size, digest = quick.write(group.path, group.plan, group.chunks, task.place, published, tell)
        except (pa.ArrowInvalid, FileNotFoundError) as error:
            raise CacheUnreadable(str(error)) from None
        files.append(_data_file(group, size, digest))
        done += group.rows
    return files


def _tell_more(progress: Callable[[str, int, int], None], before: int, total: int, more: int) -> None:
    progress("writing", before + more, total)


def _search_indexes(
    planned: list[Group],
    older: OlderFiles,
    staging: Staging,
    workers: Workers,
    progress: Callable[[str, int, int], None],
) -> list[DataFile]:
    """The indexes of the published files, which are in their places: linked where those are unchanged."""
    files: list[DataFile] = []
    to_index: list[_Task] = []
    for group in planned:
        if group.kind is FileKind.PUBLISHED and indexed_fields(group.api):
            place = staging.directory / _index_path(group)
            same = older.link(search_content(group.content), place)
            if same is not None:
                files.append(_index_file(group, same.rows, same.bytes, same.sha256))
            else:
                to_index.append(_Task(group, place, staging.directory / group.path, older.index(group)))
    indexes = _on_all_cores("indexing", _index, to_index, workers, progress)
    for task, made in zip(to_index, indexes, strict=True):
        files.append(_index_file(task.group, *made))
    return files


def _index(task: _Task) -> tuple[int, int, str]:
    """Write the index of one file; return its records, bytes and SHA-256."""
    records = write_search_index(task.data, indexed_fields(task.group.api), task.place, task.older)
    with task.place.open("rb") as file:
        return records, task.place.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()


def _index_path(group: Group) -> str:
    return f"{group.lang}/{group.api.endpoint}.search.parquet"


def _index_file(group: Group, records: int, size: int, digest: str) -> DataFile:
    return DataFile(
        path=_index_path(group),
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
    work: Callable[[_Task], Made],
    tasks: list[_Task],
    workers: Workers,
    progress: Callable[[str, int, int], None],
) -> list[Made]:
    """What ``work`` returns for each task, in their order."""
    total = sum(map(_size, tasks))
    progress(what, 0, total)
    tell = partial(progress, what)
    large = total >= POOL_BYTES
    if workers.share(len(tasks), pays=large):
        if large:
            workers.end()
        largest_first = sorted(tasks, key=_size, reverse=True)
        results = workers.run(work, largest_first, _size, tell)
        by_path = {task.group.path: result for task, result in zip(largest_first, results, strict=True)}
        return [by_path[task.group.path] for task in tasks]
    results, done = [], 0
    for task in tasks:
        results.append(work(task))
        done += _size(task)
        tell(done, total)
    return results


def _size(task: _Task) -> int:
    return int(task.group.plan.size.sum())


def _write(task: _Task) -> tuple[int, str]:
    """Write one file; return its bytes and SHA-256."""
    try:
        write_parquet(task.group.plan, task.group.chunks, task.place)
    except (pa.ArrowInvalid, FileNotFoundError) as error:
        raise CacheUnreadable(str(error)) from None
    with task.place.open("rb") as file:
        return task.place.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()


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

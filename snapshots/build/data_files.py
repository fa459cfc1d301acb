"""Planned data files → Parquet in a staged version: linked where unchanged, written on every core where not."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Set
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from snapshots.build.file_plans import Group
from snapshots.build.parquet import columns_in_memory, write_parquet
from snapshots.build.reuse import OlderFiles, ToldFile, sound_index
from snapshots.build.settings import WriteSettings
from snapshots.build.workers import Job, JobProgress, Workers
from snapshots.columns import FileKind, search_column
from snapshots.search.index import indexed_fields, search_content, write_search_index
from snapshots.store.durable import writing
from snapshots.store.manifest import DataFile
from snapshots.store.staging import Staging, bring_to_disk
from snapshots.store.store import WorkspaceStore

POOL_BYTES = 96 << 20
"""From so many bytes of JSON on, starting processes costs less than it saves: new ones even, which have no memory of
the step before."""


_BESIDE = 2
"""Files that are read or brought to the disk at a time while others are made."""
EARLY_BYTES = 32 << 20
"""A file of so many bytes is brought to the disk while others are made. Small ones are quicker together at the end."""


@dataclass(frozen=True, slots=True)
class _Writing:
    """A data file to write."""

    group: Group
    place: Path
    settings: WriteSettings


@dataclass(frozen=True, slots=True)
class _Indexing:
    """An index to write."""

    data: Path
    rows: Group | None
    """Where the texts are taken from instead of the data file, which need not be there yet."""
    fields: list[str]
    place: Path
    older: list[tuple[ToldFile, ToldFile]]
    """Older versions of the data file and their indexes."""


class CacheUnreadable(Exception):
    """A chunk of the build cache cannot be read."""


@contextmanager
def _reading_chunks() -> Iterator[None]:
    """Tell chunks that are lost or damaged from what else goes wrong in the block."""
    try:
        yield
    except (pa.ArrowInvalid, FileNotFoundError) as error:
        raise CacheUnreadable(str(error)) from None
    except OSError as error:
        if error.errno is not None:  # the system's, not Arrow's word for bytes that make no sense
            raise
        raise CacheUnreadable(str(error)) from None


def write_groups(
    planned: list[Group],
    target: WorkspaceStore,
    staging: Staging,
    workers: Workers,
    progress: Callable[[str, int, int], None],
    settings: WriteSettings,
) -> list[DataFile]:
    """Put every planned file, and its index if ``settings`` say so, into the staged version; say what each holds.

    Raises ``StoreError`` when the store cannot be written, ``CacheUnreadable`` when compiled rows are lost.
    """
    with writing(staging.directory):
        for group in planned:
            (staging.directory / group.path).parent.mkdir(parents=True, exist_ok=True)
        older = OlderFiles(target, settings)
        return _Files(planned, older, staging, workers, progress, settings).made()


class _Files:
    """The files of a version: linked where older ones say the same, written where not."""

    def __init__(
        self,
        planned: list[Group],
        older: OlderFiles,
        staging: Staging,
        workers: Workers,
        progress: Callable[[str, int, int], None],
        settings: WriteSettings,
    ) -> None:
        self._settings = settings
        self._planned, self._older, self._workers, self._progress = planned, older, workers, progress
        self._directory = staging.directory
        self._indexed = [
            group
            for group in planned
            if settings.indexed and group.kind is FileKind.PUBLISHED and indexed_fields(group.api)
        ]
        self._files: dict[str, DataFile] = {}

    def made(self) -> list[DataFile]:
        """Make them all."""
        contents = {group.path: group.content for group in self._planned}
        contents |= {_index_path(group): search_content(group.content) for group in self._indexed}
        with ThreadPoolExecutor(_BESIDE) as beside:
            # Whether an older file is whole takes reading it, which need not keep the others waiting.
            linked = {
                path: beside.submit(self._older.link, content, self._directory / path)
                for path, content in contents.items()
                if self._older.has(content)
            }
            try:
                self._make(contents.keys() - linked.keys(), beside)
            except BaseException:
                beside.shutdown(cancel_futures=True)
                raise
            for group in self._planned:
                if (same := _result(linked, group.path)) is not None:
                    self._files[group.path] = _data_file(group, same.bytes, same.sha256)
            for group in self._indexed:
                path = _index_path(group)
                if (same := _result(linked, path)) is not None:
                    self._files[path] = _index_file(group, same.rows, same.bytes, same.sha256)
            self._make(contents.keys() - self._files.keys(), beside)
        return list(self._files.values())

    def _make(self, wanted: Set[str], beside: ThreadPoolExecutor) -> None:
        """Write these files, indexes only of data files that are there or among them."""
        data: dict[str, Job[tuple[int, str]]] = {}
        for group in sorted(self._planned, key=_size, reverse=True):
            if group.path in wanted:
                task = _Writing(group, self._directory / group.path, self._settings)
                data[group.path] = Job("writing", _write, task, _size(group))
        touched = (group for group in self._planned if not wanted.isdisjoint((group.path, _index_path(group))))
        # Chunks of a small build are read twice, so that no index waits for its data file; a large one keeps all cores
        # at work anyway.
        large = sum(map(_size, touched)) >= POOL_BYTES
        indexes: dict[str, Job[tuple[int, int, str]]] = {}
        for group in sorted(self._indexed, key=_size, reverse=True):
            path, of = _index_path(group), group.path
            if path in wanted and (of in data or of in self._files):
                rows = None if large or of not in data else group
                older = self._older.indexes(group)
                indexing = _Indexing(
                    self._directory / of, rows, indexed_fields(group.api), self._directory / path, older
                )
                indexes[path] = Job("indexing", _index, indexing, _size(group), data.get(of) if large else None)
        jobs: list[Job[Any]] = [*data.values(), *indexes.values()]
        counted = JobProgress(jobs, self._progress)
        if jobs:
            self._progress = _tell_nothing  # what may be left is little, and would begin the count anew
        synced: list[Future[None]] = []

        def finished(job: Job[Any]) -> None:
            counted.add(job)
            if job.item.place.stat().st_size >= EARLY_BYTES:
                synced.append(beside.submit(bring_to_disk, job.item.place))

        first = [job for job in jobs if job.after is None]
        if self._workers.share(len(first), pays=large):
            if large:
                self._workers.end()
            self._workers.run_jobs(jobs, finished)
        else:
            at_work = {job: beside.submit(job.work, job.item) for job in indexes.values() if job.after is None}
            for job in jobs:
                job.result = at_work[job].result() if job in at_work else job.work(job.item)
                finished(job)
        for future in synced:
            future.result()
        for group in self._planned:
            if group.path in data:
                self._files[group.path] = _data_file(group, *data[group.path].result)
        for group in self._indexed:
            if (path := _index_path(group)) in indexes:
                self._files[path] = _index_file(group, *indexes[path].result)


def _tell_nothing(_step: str, _done: int, _total: int) -> None:
    pass


def _result(linked: dict[str, Future[DataFile | None]], path: str) -> DataFile | None:
    return linked[path].result() if path in linked else None


def _index(task: _Indexing) -> tuple[int, int, str]:
    """Write the index of one file; return its records, bytes and SHA-256."""
    task.place.unlink(missing_ok=True)  # as in ``_write``
    data: Path | pa.Buffer = task.data
    if task.rows is not None:
        with _reading_chunks():
            data = columns_in_memory(task.rows.plan, task.rows.chunks, [*map(search_column, task.fields)])
    records = write_search_index(data, task.fields, task.place, sound_index(task.older))
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


def _size(group: Group) -> int:
    return int(group.plan.size.sum())


def _write(task: _Writing) -> tuple[int, str]:
    """Write one file; return its bytes and SHA-256."""
    task.place.unlink(missing_ok=True)  # linked by an earlier attempt, it would be the older version's too
    with _reading_chunks():
        write_parquet(task.group.plan, task.group.chunks, task.place, task.settings)
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

"""Write planned data files as Parquet into a staged version: unchanged ones linked, others written on every core."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from snapshots.build.cache import BuildCache
from snapshots.build.file_plans import PlannedFile, Planner
from snapshots.build.parquet import FilePlan, columns_in_memory, write_parquet
from snapshots.build.reuse import OlderFiles, RecordedFile, SoundFiles, sound_index
from snapshots.build.settings import WriteSettings
from snapshots.build.workers import BuildWorkers, Job, JobProgress
from snapshots.columns import FileKind, indexed_fields, search_column
from snapshots.search.index import search_content, write_search_index
from snapshots.store.durable import writing
from snapshots.store.manifest import DataFile
from snapshots.store.staging import Staging, bring_to_disk
from snapshots.store.store import WorkspaceStore

POOL_BYTES = 96 << 20
"""From this many bytes of JSON on, it pays to start new processes, free of the memory used by the step before."""

_BESIDE = 2
"""The number of files read, or brought to the disk, at the same time while others are written."""
EARLY_BYTES = 32 << 20
"""Files of this many bytes or more are brought to the disk while others are written; small ones together at the end."""


@dataclass(frozen=True, slots=True)
class _FileRows:
    """The rows of a data file, and the chunks that have them."""

    plan: FilePlan
    chunks: list[Path]


@dataclass(frozen=True, slots=True)
class _Writing:
    """A data file to write."""

    rows: _FileRows
    path: Path
    settings: WriteSettings


@dataclass(frozen=True, slots=True)
class _Indexing:
    """An index to write."""

    data: Path
    rows: _FileRows | None
    """The rows to index when the data file is not there yet."""
    fields: list[str]
    path: Path
    older: list[tuple[RecordedFile, RecordedFile]]
    """Older versions of the data file and their indexes."""


class CacheUnreadable(Exception):
    """A chunk of the build cache cannot be read."""


@contextmanager
def _reading_chunks() -> Iterator[None]:
    """Turn an error in the block that comes from a lost or damaged chunk into ``CacheUnreadable``."""
    try:
        yield
    except (pa.ArrowInvalid, FileNotFoundError) as error:
        raise CacheUnreadable(str(error)) from None
    except OSError as error:
        if error.errno is not None:  # an error of the system, not Arrow's for damaged bytes
            raise
        raise CacheUnreadable(str(error)) from None


def write_files(
    planners: Sequence[Planner],
    target: WorkspaceStore,
    staging: Staging,
    workers: BuildWorkers,
    progress: Callable[[str, int, int], None],
    settings: WriteSettings,
    cache: BuildCache,
) -> list[DataFile]:
    """Put every planned file, and its index if ``settings`` ask for it, into the staged version; return their facts.

    Raises ``StoreError`` when the store cannot be written, ``CacheUnreadable`` when compiled rows are lost.
    """
    with writing(staging.directory):
        for file in (file for planner in planners for file in planner.files()):
            for path in (file.path, file.index_path):
                (staging.directory / path).parent.mkdir(parents=True, exist_ok=True)
        sound = SoundFiles(cache)
        older = OlderFiles(target, settings, sound)
        files = _Files(planners, older, staging, workers, progress, settings).made()
        for one in files:
            sound.add(staging.directory / one.path, one.sha256)
        sound.save()
        return files


class _Files:
    """The files of a version: linked where an older one has the same content, else written."""

    def __init__(
        self,
        planners: Sequence[Planner],
        older: OlderFiles,
        staging: Staging,
        workers: BuildWorkers,
        progress: Callable[[str, int, int], None],
        settings: WriteSettings,
    ) -> None:
        self._settings = settings
        self._planners, self._older, self._workers, self._progress = planners, older, workers, progress
        self._planned = [file for planner in planners for file in planner.files()]
        self._directory = staging.directory
        self._indexed = [
            file
            for file in self._planned
            if settings.indexed and file.kind is FileKind.PUBLISHED and indexed_fields(file.api)
        ]
        self._files: dict[str, DataFile] = {}

    def made(self) -> list[DataFile]:
        """Link or write all files; return their facts."""
        contents = {file.path: file.content for file in self._planned}
        contents |= {file.index_path: search_content(file.content) for file in self._indexed}
        with ThreadPoolExecutor(_BESIDE) as beside:
            # An older file is read whole before it is linked; meanwhile others are written.
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
            for file in self._planned:
                if (same := _result(linked, file.path)) is not None:
                    self._files[file.path] = _data_file(file, same.bytes, same.sha256)
            for file in self._indexed:
                path = file.index_path
                if (same := _result(linked, path)) is not None:
                    self._files[path] = _index_file(file, same.rows, same.bytes, same.sha256)
            self._make(contents.keys() - self._files.keys(), beside)
        return list(self._files.values())

    def _make(self, wanted: Set[str], beside: ThreadPoolExecutor) -> None:
        """Write the ``wanted`` files. An index is written only if its data file is there, or wanted too."""
        data: dict[str, Job[tuple[int, str]]] = {}
        for planner in self._planners:
            planner.look_up(wanted)
        for file in sorted(self._planned, key=_size, reverse=True):
            if file.path in wanted:
                task = _Writing(_rows_of(file), self._directory / file.path, self._settings)
                data[file.path] = Job("writing", _write, task, _size(file))
        touched = (file for file in self._planned if not wanted.isdisjoint((file.path, file.index_path)))
        # In a small build, chunks are read twice so that no index waits for its data file; in a large one, all cores
        # are at work anyway.
        large = sum(map(_size, touched)) >= POOL_BYTES
        indexes: dict[str, Job[tuple[int, int, str]]] = {}
        for file in sorted(self._indexed, key=_size, reverse=True):
            path, of = file.index_path, file.path
            if path in wanted and (of in data or of in self._files):
                rows = None if large or of not in data else _rows_of(file)
                older = self._older.indexes(file)
                indexing = _Indexing(
                    self._directory / of, rows, indexed_fields(file.api), self._directory / path, older
                )
                indexes[path] = Job("indexing", _index, indexing, _size(file), data.get(of) if large else None)
        jobs: list[Job[Any]] = [*data.values(), *indexes.values()]
        counted = JobProgress(jobs, self._progress)
        if jobs:
            self._progress = _tell_nothing  # a second call writes little, and would start the progress again from 0
        synced: list[Future[None]] = []

        def finished(job: Job[Any]) -> None:
            counted.add(job)
            if job.item.path.stat().st_size >= EARLY_BYTES:
                synced.append(beside.submit(bring_to_disk, job.item.path))

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
        for file in self._planned:
            if file.path in data:
                self._files[file.path] = _data_file(file, *data[file.path].result)
        for file in self._indexed:
            if (path := file.index_path) in indexes:
                self._files[path] = _index_file(file, *indexes[path].result)


def _tell_nothing(_step: str, _done: int, _total: int) -> None:
    pass


def _result(linked: dict[str, Future[DataFile | None]], path: str) -> DataFile | None:
    return linked[path].result() if path in linked else None


def _index(task: _Indexing) -> tuple[int, int, str]:
    """Write the index of one file; return its records, bytes and SHA-256."""
    task.path.unlink(missing_ok=True)  # as in ``_write``
    data: Path | pa.Buffer = task.data
    if task.rows is not None:
        with _reading_chunks():
            data = columns_in_memory(task.rows.plan, task.rows.chunks, [*map(search_column, task.fields)])
    older = sound_index(task.older)
    try:
        records = write_search_index(data, task.fields, task.path, older)
    except FileNotFoundError:
        if older is None:
            raise
        task.path.unlink(missing_ok=True)  # a prune dropped the older version meanwhile
        records = write_search_index(data, task.fields, task.path)
    with task.path.open("rb") as file:
        return records, task.path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()


def _index_file(file: PlannedFile, records: int, size: int, digest: str) -> DataFile:
    return DataFile(
        path=file.index_path,
        api=file.api.uid,
        lang=file.lang,
        kind=FileKind.SEARCH,
        rows=records,
        bytes=size,
        sha256=digest,
        content=search_content(file.content),
        segment=file.segment,
    )


def _size(file: PlannedFile) -> int:
    return file.facts.size


def _rows_of(file: PlannedFile) -> _FileRows:
    assert file.plan is not None  # it was looked up, for mypy
    return _FileRows(file.plan, file.chunks)


def _write(task: _Writing) -> tuple[int, str]:
    """Write one file; return its bytes and SHA-256."""
    task.path.unlink(missing_ok=True)  # a link made by an earlier attempt would change the older version too
    with _reading_chunks():
        write_parquet(task.rows.plan, task.rows.chunks, task.path, task.settings)
    with task.path.open("rb") as file:
        return task.path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()


def _data_file(file: PlannedFile, size: int, digest: str) -> DataFile:
    return DataFile(
        path=file.path,
        api=file.api.uid,
        lang=file.lang,
        kind=file.kind,
        rows=file.rows,
        bytes=size,
        sha256=digest,
        content=file.content,
        scheduled=file.facts.scheduled,
        segment=file.segment,
    )

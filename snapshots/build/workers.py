"""The processes of a build: started for the first work that pays for them, and kept for the steps that follow."""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any, Final, Generic, Self, TypeVar

from snapshots.problems import ParquetryError

Item = TypeVar("Item")
Result = TypeVar("Result")

_KEPT_BYTES: Final = 1 << 30
_GLIBC: Final = "CS_GNU_LIBC_VERSION" in getattr(os, "confstr_names", {})
_MEMORY: Final = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:"
    f"glibc.malloc.mmap_threshold={_KEPT_BYTES}:glibc.malloc.trim_threshold={_KEPT_BYTES}",
}
"""Settings with which a process keeps the memory it frees, Arrow's too, and allocates huge pages.

A process that gives memory back and takes it again page by page holds some 100 MB less, and a build takes some 4 %
longer. The C library and Arrow read these settings when a process starts."""


class WorkerDied(ParquetryError):
    """A process of a build ended in the middle of its work, whatever the reason: nothing tells which."""


class Job(Generic[Result]):
    """A piece of work, ``work(item)``, and once it is done its ``result``."""

    result: Result

    def __init__(
        self, step: str, work: Callable[[Item], Result], item: Item, size: int, after: Job[Any] | None = None
    ) -> None:
        """Progress is counted by ``step`` in units of ``size``; the work begins once the job ``after`` is done."""
        self.step, self.size, self.after = step, size, after
        self.work: Callable[[Any], Result] = work
        self.item: Any = item


class BuildWorkers:
    """The processes of one build, one for each core. They end with the ``with`` block, or when this process ends."""

    def __init__(self, prepare: Callable[..., None], arguments: tuple[object, ...]) -> None:
        """``prepare`` is called with ``arguments`` in each process before its first work."""
        self._prepare, self._arguments = prepare, arguments
        self._cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._executor: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End the processes, and so free their memory; further work starts new ones."""
        if self._executor is not None:
            self._executor.shutdown()
            self._executor = None

    def share(self, items: int, *, pays: bool) -> bool:
        """Return whether the processes should do this many pieces of work; ``pays``: starting them is worth it."""
        return items > 1 and self._cores > 1 and (pays or self._executor is not None)

    def run(
        self,
        work: Callable[[Item], Result],
        items: list[Item],
        size: Callable[[Item], int],
        progress: Callable[[int, int], None],
    ) -> list[Result]:
        """Run ``work`` on every item in the processes; return the results in the items' order.

        ``progress`` is called with (size done, size in all). Raises the errors of ``work``, and ``WorkerDied``.
        """
        jobs = [Job("", work, item, size(item)) for item in items]
        counted = JobProgress(jobs, lambda _step, done, total: progress(done, total))
        self.run_jobs(jobs, counted.add)
        return [job.result for job in jobs]

    def run_jobs(self, jobs: Sequence[Job[Any]], finished: Callable[[Job[Any]], None]) -> None:
        """Run the jobs in the processes, in this order as far as none waits for another. Raises as ``run`` does.

        ``finished`` is called in this process with each job as soon as it is done.
        """
        if self._executor is None:
            arguments = (self._prepare, self._arguments)
            self._executor = ProcessPoolExecutor(
                self._cores, mp_context=_Spawning(), initializer=_start, initargs=arguments
            )
        try:
            _run_all(self._executor, jobs, finished)
        except BaseException:
            # Jobs that have begun go on: their files must stay alone until they are done.
            self._executor.shutdown(cancel_futures=True)
            self._executor = None
            raise


class JobProgress:
    """Reports how much of each step's work is done, one step after the other, in whatever order jobs end."""

    def __init__(self, jobs: Sequence[Job[Any]], tell: Callable[[str, int, int], None]) -> None:
        self._tell = tell
        self._done: dict[str, int] = {}
        self._total: dict[str, int] = {}
        for job in jobs:
            self._done[job.step] = 0
            self._total[job.step] = self._total.get(job.step, 0) + job.size
        self._steps = list(self._total)
        self._tell_from_here()

    def add(self, job: Job[Any]) -> None:
        """Count a job as done."""
        self._done[job.step] += job.size
        self._tell_from_here()

    def _tell_from_here(self) -> None:
        while self._steps:
            step = self._steps[0]
            self._tell(step, self._done[step], self._total[step])
            if self._done[step] < self._total[step] or len(self._steps) == 1:
                break
            del self._steps[0]


@contextmanager
def _memory_kept() -> Iterator[None]:
    """Make processes that start in the block keep freed memory, unless the environment has settings for that."""
    if not _GLIBC or not _MEMORY.keys().isdisjoint(os.environ):
        yield
        return
    os.environ.update(_MEMORY)
    try:
        yield
    finally:
        for name in _MEMORY:
            os.environ.pop(name, None)


class _Process(SpawnProcess):
    def start(self) -> None:
        with _memory_kept():
            super().start()


class _Spawning(SpawnContext):
    """Starts processes by ``spawn``, the one way that is safe beside threads on Linux and macOS."""

    Process = _Process


def _run_all(executor: Executor, jobs: Sequence[Job[Any]], finished: Callable[[Job[Any]], None]) -> None:
    waiting: dict[Job[Any], list[Job[Any]]] = {}
    running: dict[Future[Any], Job[Any]] = {}
    try:
        for job in jobs:
            if job.after is None:
                running[executor.submit(job.work, job.item)] = job
            else:
                waiting.setdefault(job.after, []).append(job)
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                job = running.pop(future)
                job.result = future.result()
                for following in waiting.pop(job, ()):
                    running[executor.submit(following.work, following.item)] = following
                finished(job)
    except BrokenProcessPool:
        raise WorkerDied(
            "a build process ended unexpectedly, as happens when memory runs out. Nothing was activated; "
            "free some memory and build again."
        ) from None


def _start(prepare: Callable[..., None], arguments: tuple[object, ...]) -> None:
    _end_with_parent()
    prepare(*arguments)
    gc.disable()  # pieces of work make hardly any cycles
    gc.freeze()


def _end_with_parent() -> None:
    """End this process as soon as its parent ends, however that happens (SIGKILL included)."""
    parent = multiprocessing.parent_process()
    if parent is not None:

        def watch() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=watch, daemon=True).start()

"""A build's processes: started once there is work that pays for it, and kept for the steps that follow."""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Self, TypeVar

from snapshots.problems import ParquetryError

Item = TypeVar("Item")
Result = TypeVar("Result")


class Workers:
    """Processes for one build, one a core. They end with the ``with`` block, and as soon as this process does."""

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
        """End the processes, and with them what their work so far left in memory; more work starts others."""
        if self._executor is not None:
            self._executor.shutdown()
            self._executor = None

    def share(self, items: int, *, pays: bool) -> bool:
        """Whether so many pieces of work are for the processes; ``pays`` when they are worth starting them."""
        return items > 1 and self._cores > 1 and (pays or self._executor is not None)

    def run(
        self,
        work: Callable[[Item], Result],
        items: list[Item],
        size: Callable[[Item], int],
        progress: Callable[[int, int], None],
    ) -> list[Result]:
        """``work`` done on all items by the processes, in the items' order; ``progress`` hears of the sizes done.

        Raises what ``work`` raises, and ``ParquetryError`` when one of the processes dies.
        """
        if self._executor is None:
            # ``spawn`` is the one way that is safe beside threads, on Linux and macOS.
            context = multiprocessing.get_context("spawn")
            arguments = (self._prepare, self._arguments)
            self._executor = ProcessPoolExecutor(
                self._cores, mp_context=context, initializer=_start, initargs=arguments
            )
        try:
            return _run_all(self._executor, work, items, size, progress)
        except BaseException:
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = None
            raise


def _run_all(
    executor: Executor,
    work: Callable[[Item], Result],
    items: list[Item],
    size: Callable[[Item], int],
    progress: Callable[[int, int], None],
) -> list[Result]:
    total, done = sum(map(size, items)), 0
    try:
        futures: dict[Future[Result], Item] = {executor.submit(work, item): item for item in items}
        waiting = set(futures)
        while waiting:
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in finished:
                future.result()
                done += size(futures[future])
            progress(done, total)
    except BrokenProcessPool:
        raise ParquetryError(
            "a build process ended unexpectedly, as happens when memory runs out. Nothing was activated; "
            "free some memory and build again."
        ) from None
    return [future.result() for future in futures]


def _start(prepare: Callable[..., None], arguments: tuple[object, ...]) -> None:
    _end_with_parent()
    prepare(*arguments)
    gc.disable()  # what a piece of work allocates goes by itself; the search for cycles among it is wasted
    gc.freeze()


def _end_with_parent() -> None:
    """End this process as soon as its parent ends, however that happens (SIGKILL included)."""
    parent = multiprocessing.parent_process()
    if parent is not None:

        def watch() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=watch, daemon=True).start()

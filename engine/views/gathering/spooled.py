"""The spool of this machine, for the one process that takes segments out of it."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from engine.views.collecting.spool import (
    dead_worker,
    has_sealed,
    remove_leftovers,
    remove_through,
    remove_worker,
    sealed_after,
    workers,
)
from engine.views.counting.count_files import CountState, held
from engine.views.counting.folding import SealedSegment
from snapshots.store.durable import make_directory, writing

LOCK: Final = "writer.lock"


@contextmanager
def writer_lock(views: Path, *, wait: float = 0.0) -> Iterator[bool]:
    """Yield whether this process takes a workspace's segments for the length of the block: one at a time does.

    The lock ends with the process that holds it. ``wait`` is the seconds to try. Raises ``StoreError``.
    """
    with writing(views):
        make_directory(views)
        descriptor = os.open(views / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    deadline = time.monotonic() + wait
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    yield False
                    return
                time.sleep(0.02)
        yield True
    finally:
        os.close(descriptor)


def adopt(views: Path) -> list[str]:
    """Seal the open segments of the dead workers of this machine, and return these workers. Raises ``OSError``."""
    remove_leftovers(views)
    dead = []
    for worker in workers(views):
        with dead_worker(views, worker) as is_dead:
            if is_dead:
                dead.append(worker)
    return dead


def remove_held(views: Path, dead: Collection[str], through: Mapping[str, int]) -> None:
    """Remove the segments up to ``through``, and the places of dead workers that have none left. Raises ``OSError``."""
    for worker in workers(views):
        remove_through(views, worker, through.get(worker, 0))
        if worker in dead and not has_sealed(views, worker):
            remove_worker(views, worker)


class SpooledSegments:
    """The segments of one workspace in the spool of this machine."""

    remembers_senders: Final = False

    def __init__(self, views: Path, dead: Collection[str] = ()) -> None:
        """``dead`` are the workers that ``adopt`` returned, whose places go with their last segments."""
        self._views = views
        self._dead = dead

    def workers(self) -> list[str]:
        return workers(self._views)

    def after(self, worker: str, through: int) -> Iterable[SealedSegment]:
        return sealed_after(self._views, worker, through)

    def listed_again(self) -> SpooledSegments:
        """Return these: nobody else removes any."""
        return self

    def present(self, through: Mapping[str, int]) -> dict[str, int]:
        """Return the part of ``through`` that is of workers in the spool: the names of others never come back."""
        return {worker: through[worker] for worker in workers(self._views) if worker in through}

    def remembered(self, state: CountState, before: CountState, today: int) -> CountState:  # in a bucket
        """Return the state without the workers that are gone, when more was counted."""
        if state.through == before.through:
            return state
        filing = msgspec.structs.replace(state.filing, through=self.present(state.filing.through))
        return msgspec.structs.replace(state, through=self.present(state.through), filing=filing)

    def remove(self, state: CountState, today: int) -> None:  # for the marks in a bucket
        """Remove the segments that are counted and filed, and the places of dead workers. Raises ``OSError``."""
        remove_held(self._views, self._dead, {worker: held(state, worker) for worker in workers(self._views)})

"""Find out by trying what a store permits: reading, listing, conditional writes, copying, deleting."""

from __future__ import annotations

import secrets
import statistics
import time
from collections.abc import Callable
from functools import partial

import msgspec

from snapshots.store.buckets.conditions import Conditions, try_conditions
from snapshots.store.changes import CHANGES
from snapshots.store.durable import StoreError
from snapshots.store.objects import MissingBucket, Objects

_READS = 5


class StoreCheck(msgspec.Struct):
    """The outcome of each trial: ``None`` where it succeeded, else the reason why not."""

    read: str | None = None
    milliseconds: float | None = None
    """The median of some reads of a small document."""
    list: str | None = None
    write: str | None = None
    conditions: Conditions | None = None
    """How it treats conditional writes; ``None`` where nothing may be written."""
    copy: str | None = None
    delete: str | None = None
    objects: int = 0
    bytes: int = 0
    names: frozenset[str] = frozenset()
    """The names of the objects, each without its folder."""

    @property
    def usable(self) -> bool:
        """Whether it can be served from, and is safe to write to where writing is permitted."""
        return self.read is None and self.list is None and (self.conditions is None or self.conditions.kept)


def check_store(objects: Objects) -> StoreCheck:
    """Try everything on small objects that are deleted again. What fails is part of the outcome, but where there is
    nothing to try it on: raises ``MissingBucket``."""
    found = StoreCheck()
    found.read = _reason(lambda: _time_reads(objects, found))
    found.list = _reason(lambda: _count(objects, found))
    key = f"_probe/{secrets.token_hex(8)}"

    def conditions() -> None:
        found.conditions = try_conditions(partial(objects.try_replace, key))

    found.write = _reason(conditions)
    if found.conditions is not None and found.conditions.kept:
        found.copy = _reason(lambda: objects.copy(key, f"{key}-copy"))
    if found.conditions is not None:
        found.delete = _reason(lambda: objects.delete([key, f"{key}-copy"]))
    return found


def _reason(trial: Callable[[], object]) -> str | None:
    try:
        trial()
    except MissingBucket:
        raise
    except StoreError as error:
        return str(error)
    return None


def _time_reads(objects: Objects, found: StoreCheck) -> None:
    times = []
    for _ in range(_READS):
        begin = time.perf_counter()
        objects.read(CHANGES)
        times.append((time.perf_counter() - begin) * 1000)
    found.milliseconds = statistics.median(times)


def _count(objects: Objects, found: StoreCheck) -> None:
    listed = objects.names("")
    found.objects, found.bytes = len(listed), sum(one.bytes for one in listed)
    found.names = frozenset(one.key.rpartition("/")[2] for one in listed)

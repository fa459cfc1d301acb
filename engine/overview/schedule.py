"""A snapshot and a stretch of time → the instants in it at which language versions go live or end."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec
import pyarrow.compute as pc

from engine.overview.summary import Flip, live_windows
from snapshots.store.manifest import DataFile, Manifest


class Schedule(msgspec.Struct, frozen=True):
    """The flips of a stretch of time."""

    flips: tuple[Flip, ...]
    """The first ones, earliest first."""
    total: int
    """The number of all."""


def schedule(
    directory: Path,
    manifest: Manifest,
    since: int,
    until: int,
    *,
    most: int,
    apis: Collection[str] | None = None,
    languages: Collection[str] | None = None,
) -> Schedule:
    """List the ``most`` first flips of the snapshot in ``directory`` from ``since`` to before ``until`` (UTC ms), and
    count all.

    ``apis`` (endpoints) and ``languages`` limit them, ``None`` to none. A version that is never live, since it ends
    before it begins, has none. Raises ``StoreError`` when a file cannot be read.
    """
    first: list[Flip] = []
    total = 0
    for api in manifest.workspace.apis:
        if apis is not None and api.endpoint not in apis:
            continue
        for lang in manifest.workspace.languages_of(api):
            file = manifest.file(api, lang)
            if file is None or (languages is not None and lang not in languages):
                continue
            for found, here in _flips(directory, file, (api.endpoint, lang), (since, until), most):
                total += here
                first = heapq.nsmallest(most, [*first, *found])
    return Schedule(tuple(first), total)


def _flips(
    directory: Path, file: DataFile, about: tuple[str, str], stretch: tuple[int, int], most: int
) -> Iterator[tuple[list[Flip], int]]:
    """Return (the first flips, the number of all) of each row group and end of its live windows."""
    since, until = stretch
    for windows in live_windows(directory, file):
        ever = windows.filter(pc.less(windows["live_from"], windows["live_until"]))
        for column, live in (("live_from", True), ("live_until", False)):
            inside = ever.filter(pc.and_(pc.greater_equal(ever[column], since), pc.less(ever[column], until)))
            keys = [(column, "ascending"), ("id", "ascending")]
            rows = inside.take(pc.select_k_unstable(inside, k=most, sort_keys=keys)).to_pylist()
            yield [Flip(row[column], *about, row["id"], live) for row in rows], len(inside)

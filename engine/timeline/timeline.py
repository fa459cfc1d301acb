"""The timeline of a version: how many entries are in which state at an instant, and what goes live or ends when.

The live windows of its published files are read once, by whoever asks first, and kept.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator
from functools import cache, cached_property

import msgspec
import numpy as np

from engine.timeline.flips import Flips
from engine.timeline.published_rows import opened_published
from engine.timeline.states import STATES, State
from engine.timeline.windows import Ints, Windows
from snapshots.columns import FileKind
from snapshots.model import NEVER
from snapshots.store.manifest import DataFile, Manifest
from snapshots.store.store import WorkspaceStore

FLIPS = 10


class VersionCounts(msgspec.Struct, frozen=True):
    """The number of versions of an API in one language, by their state at an instant (decision 22)."""

    api: str
    """Endpoint."""
    lang: str
    live: int
    scheduled: int
    """Not live yet."""
    ended: int
    """Past their publish end."""
    drafts: int
    """Unpublished changes, whether or not the version is published too."""

    @property
    def by_state(self) -> dict[State, int]:
        """The numbers of versions by state, in the order of ``STATES``."""
        return dict(zip(STATES, (self.live, self.scheduled, self.ended, self.drafts), strict=True))

    @property
    def rows(self) -> int:
        """Versions in the snapshot's files, drafts included."""
        return sum(self.by_state.values())


class Flip(msgspec.Struct, frozen=True, order=True):
    """The instant at which a version goes live or ends. Sorts by instant, then endpoint, language and entry."""

    at: int
    """UTC milliseconds."""
    api: str
    """Endpoint."""
    lang: str
    entry: str
    """Entry ID."""
    live: bool
    """True when the version goes live, False when it ends."""


class Schedule(msgspec.Struct, frozen=True):
    """The flips of a stretch of time."""

    flips: tuple[Flip, ...]
    """The first ones, earliest first."""
    total: int
    """The number of all."""


class Summary(msgspec.Struct, frozen=True):
    """The counts and next flips of a snapshot at the instant ``now`` (UTC milliseconds)."""

    version: str
    now: int
    counts: tuple[VersionCounts, ...]
    """APIs in the workspace's order, each with its languages, the main one first; zeros where there are no versions."""
    flips: tuple[Flip, ...]
    """The first ones after ``now``, earliest first."""


class Timeline:
    """The timeline of one version. Each method raises ``StoreError`` where a file cannot be read."""

    def __init__(self, workspace_store: WorkspaceStore, manifest: Manifest) -> None:
        self._workspace_store = workspace_store
        self._manifest = manifest
        self._windows = cache(self._read)

    @cached_property
    def flips(self) -> Flips:
        """The instants at which any entry of the version goes live or ends in any language."""
        found = [self._windows(file).flips() for file in self._manifest.files if file.kind is FileKind.PUBLISHED]
        return Flips(np.concatenate([np.zeros(0, np.int64), *found]))

    def summary(self, now: int, *, flips: int = FLIPS) -> Summary:
        """Count the versions in each state at ``now`` (UTC milliseconds), and list the ``flips`` next flips."""
        coming = self.schedule(now + 1, NEVER, most=flips)
        return Summary(self._manifest.version, now, self.counts(now), coming.flips)

    def counts(self, now: int) -> tuple[VersionCounts, ...]:
        """Count the versions in each state at ``now`` (UTC milliseconds), in the order of a summary."""
        counts = []
        for api in self._manifest.workspace.apis:
            for lang in self._manifest.workspace.languages_of(api):
                live = scheduled = rows = 0
                for file in self._manifest.files_of(api, lang):
                    windows = self._windows(file)
                    rows += file.rows
                    live += int(windows.are_live(now).sum())
                    scheduled += int(windows.are_scheduled(now).sum())
                drafts = self._manifest.files_of(api, lang, FileKind.DRAFTS)
                counts.append(
                    VersionCounts(
                        *(api.endpoint, lang, live, scheduled),
                        ended=rows - live - scheduled,
                        drafts=sum(file.rows for file in drafts),
                    )
                )
        return tuple(counts)

    def flips_after(self, now: int) -> tuple[Ints, Ints]:
        """Return the instants after ``now`` (UTC milliseconds) at which versions go live, and at which they end, one a
        version and in no order."""
        files = [file for file in self._manifest.files if file.kind is FileKind.PUBLISHED]
        found = [self._windows(file) for file in files]
        none = np.zeros(0, np.int64)
        begin = np.concatenate([none, *(one.live_from[one.begin & (one.live_from > now)] for one in found)])
        end = np.concatenate([none, *(one.live_until[one.end & (one.live_until > now)] for one in found)])
        return begin, end

    def schedule(
        self,
        since: int,
        until: int,
        *,
        most: int,
        apis: Collection[str] | None = None,
        languages: Collection[str] | None = None,
    ) -> Schedule:
        """List the ``most`` first flips from ``since`` to before ``until`` (UTC milliseconds), and count all.

        ``apis`` (endpoints) and ``languages`` limit them, ``None`` to none.
        """
        first: list[Flip] = []
        total = 0
        for api in self._manifest.workspace.apis:
            for lang in self._manifest.workspace.languages_of(api):
                if (apis is not None and api.endpoint not in apis) or (languages is not None and lang not in languages):
                    continue
                for file in self._manifest.files_of(api, lang):
                    windows = self._windows(file)
                    for instants, flip, live in (
                        (windows.live_from, windows.begin, True),
                        (windows.live_until, windows.end, False),
                    ):
                        rows = np.flatnonzero(flip & (instants >= since) & (instants < until))
                        total += len(rows)
                        entries = self._first_entries(file, rows, instants[rows], most)
                        flips = (Flip(at, api.endpoint, lang, entry, live) for at, entry in entries)
                        first = heapq.nsmallest(most, [*first, *flips])
        return Schedule(tuple(first), total)

    def _first_entries(self, file: DataFile, rows: Ints, instants: Ints, most: int) -> Iterator[tuple[int, str]]:
        """Return the instants and IDs of the ``most`` rows that come first, of those with the same instant by ID."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if len(rows) > most:
            is_first = instants <= np.partition(instants, most - 1)[most - 1]
            rows, instants = rows[is_first], instants[is_first]
        if not len(rows):
            return
        with opened_published([self._workspace_store.bring_file(self._manifest.version, file)]) as published:
            named = pa.table({"at": instants, "id": published.ids(rows)})
        for row in named.take(
            pc.select_k_unstable(named, most, [("at", "ascending"), ("id", "ascending")])
        ).to_pylist():
            yield row["at"], row["id"]

    def _read(self, file: DataFile) -> Windows:
        with opened_published([self._workspace_store.bring_file(self._manifest.version, file)]) as published:
            return published.windows()

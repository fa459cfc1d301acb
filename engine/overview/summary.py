"""A snapshot at an instant: manifest and Parquet files → counts by API and language, and the next flips."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.visibility import is_live, is_scheduled
from snapshots.columns import FileKind
from snapshots.model import NEVER
from snapshots.store.durable import StoreError
from snapshots.store.manifest import DataFile, Manifest

FLIPS = 10


@dataclass(frozen=True, slots=True)
class VersionCounts:
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
    def rows(self) -> int:
        """Versions in the snapshot's files, drafts included."""
        return self.live + self.scheduled + self.ended + self.drafts


@dataclass(frozen=True, slots=True, order=True)
class Flip:
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


@dataclass(frozen=True, slots=True)
class Summary:
    """The counts and next flips of a snapshot at the instant ``now`` (UTC milliseconds)."""

    version: str
    now: int
    counts: tuple[VersionCounts, ...]
    """APIs in the workspace's order, each with its languages, the main one first; zeros where there are no versions."""
    flips: tuple[Flip, ...]
    """The first ones after ``now``, earliest first."""


def summarise(directory: Path, manifest: Manifest, now: int, *, flips: int = FLIPS) -> Summary:
    """Count the versions of the snapshot in ``directory`` at ``now``, and list the ``flips`` next flips.

    Reads the IDs and live windows only, a row group at a time. Raises ``StoreError`` when a file cannot be read.
    """
    counts: list[VersionCounts] = []
    coming: list[Flip] = []
    for api in manifest.workspace.apis:
        for lang in manifest.workspace.languages_of(api):
            live = scheduled = ended = 0
            file = manifest.file(api, lang)
            for windows in live_windows(directory, file) if file is not None else ():
                live_from, live_until = windows["live_from"].to_numpy(), windows["live_until"].to_numpy()
                live_here = int(is_live(live_from, live_until, now).sum())
                scheduled_here = int(is_scheduled(live_from, now).sum())
                live, scheduled = live + live_here, scheduled + scheduled_here
                ended += len(windows) - live_here - scheduled_here
                coming = heapq.nsmallest(flips, [*coming, *_flips(windows, api.endpoint, lang, now, flips)])
            drafts = manifest.file(api, lang, FileKind.DRAFTS)
            counts.append(
                VersionCounts(api.endpoint, lang, live, scheduled, ended, drafts.rows if drafts is not None else 0)
            )
    return Summary(manifest.version, now, tuple(counts), tuple(coming))


def _flips(windows: pa.RecordBatch, api: str, lang: str, now: int, first: int) -> Iterator[Flip]:
    """Return the first flips of these versions after ``now``: the first to go live and the first to end."""
    for column, live in (("live_from", True), ("live_until", False)):
        ahead = windows.filter(pc.and_(pc.greater(windows[column], now), pc.less(windows[column], NEVER)))
        order = pc.select_k_unstable(ahead, k=first, sort_keys=[(column, "ascending"), ("id", "ascending")])
        for row in ahead.take(order).to_pylist():
            yield Flip(row[column], api, lang, row["id"], live)


def live_windows(directory: Path, file: DataFile) -> Iterator[pa.RecordBatch]:
    """Return the rows of a data file as (id, live_from, live_until), instants as UTC milliseconds, a row group at a
    time. Raises ``StoreError`` when the file cannot be read."""
    try:
        with pq.ParquetFile(directory / file.path) as table:
            for batch in table.iter_batches(columns=["id", "live_from", "live_until"]):
                yield pa.RecordBatch.from_arrays(
                    [batch["id"], batch["live_from"].cast(pa.int64()), batch["live_until"].cast(pa.int64())],
                    names=["id", "live_from", "live_until"],
                )
    except (pa.ArrowException, OSError, KeyError) as error:
        raise StoreError(
            f"{directory / file.path} cannot be read: {error}. `cms snapshot verify` says what is damaged."
        ) from error

"""Add sealed segments to the counts files, from the spool of one machine or from a bucket's spool of all machines."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from engine.views.collecting.spool import View
from engine.views.counting import count_files
from engine.views.counting.count_files import CountState, daily_views
from engine.views.counting.distinct_keys import counted_together, keys_beyond
from snapshots.model import ViewSettings
from snapshots.problems import ParquetryError
from snapshots.store.store import WorkspaceStore

MOST_VIEWS: Final = 100_000
"""Views written in one step at most, which bounds its time and memory."""

_log = logging.getLogger("parquetry")


class SealedSegment(Protocol):
    """A segment that takes no more views."""

    @property
    def number(self) -> int:
        """The segment's place among the segments of its worker."""

    def views(self) -> list[View]:
        """Return the segment's views."""

    def replace(self, views: Iterable[View]) -> None:
        """Replace the segment's views, before any sink has read them."""


class Segments(Protocol):
    """The sealed segments of one workspace that are not in all sinks yet."""

    def workers(self) -> Iterable[str]:
        """Return the names of the workers that wrote segments."""

    def after(self, worker: str, through: int) -> Iterable[SealedSegment]:
        """Return the segments of a worker after number ``through``, in order."""

    @property
    def remembers_senders(self) -> bool:
        """Whether ``remembered`` keeps in the state when workers were seen."""

    def listed_again(self) -> Segments:
        """Return the segments that are there now."""

    def remembered(self, state: CountState, before: CountState, today: int) -> CountState:
        """Return the state with the facts that are still needed about workers, which are those that may write again.

        ``before`` is the state before this round, ``today`` a JST day (days since 1970).
        """

    def remove(self, state: CountState, today: int) -> None:
        """Remove the segments that are counted and filed as ``state`` says, on ``today`` (days since 1970)."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Views that are written together, and the last segment of each worker that they are of."""

    views: Sequence[View]
    through: Mapping[str, int]


def next_batch(
    segments: Segments, through: Mapping[str, int], no_further: Mapping[str, int] | None = None, most: int = MOST_VIEWS
) -> Batch:
    """The next sealed segments after ``through``, up to ``no_further`` where given, until there are ``most`` views."""
    views: list[View] = []
    taken: dict[str, int] = {}
    for worker in segments.workers():
        for segment in segments.after(worker, through.get(worker, 0)):
            if len(views) >= most or (no_further is not None and segment.number > no_further.get(worker, 0)):
                break
            views += segment.views()
            taken[worker] = segment.number
    return Batch(views, taken)


@dataclass(slots=True)
class Counting:
    """Counts the views of one workspace. It holds nothing that is not in the files."""

    views: Path
    """The directory whose counts files are written."""
    workspace_store: WorkspaceStore
    """The workspace, whose current content says how many keys are told apart."""
    _settings: ViewSettings = field(default_factory=ViewSettings)
    _settings_of: str | None = None
    _told_full: int | None = None
    """The number of keys in the last warning that no more are told apart."""

    def add(self, segments: Segments, state: CountState) -> tuple[CountState, int]:
        """Add all sealed segments that ``state`` lacks; return the new state, and the number of views added.

        Raises ``StoreError`` when the disk refuses, ``CountsDamaged``, and what the segments raise.
        """
        counted = 0
        while (batch := next_batch(segments, state.through)).through:
            batch = self._bounded(segments, state, batch)
            through = state.through | dict(batch.through)
            state = count_files.add(self.views, state, daily_views(batch.views), through)
            counted += len(batch.views)
        return state, counted

    def _bounded(self, segments: Segments, state: CountState, batch: Batch) -> Batch:
        """The batch with the views of too many keys counted together. Its segments are rewritten, so that rows
        and every later attempt are of the same."""
        most = self._max_keys()
        beyond = keys_beyond(self.views, state, batch.views, most)
        if not beyond:
            return batch
        if self._told_full != most:
            _log.warning(
                "%s: the views of %s different paths and entries are counted, as many as views.max_keys allows; views "
                "of others count as `other`. Raise it in workspace.yaml if they are pages of yours.",
                self.workspace_store.id,
                f"{most:,}",
            )
        self._told_full = most
        for worker, number in batch.through.items():
            for segment in segments.after(worker, state.through.get(worker, 0)):
                if segment.number > number:
                    break
                views = segment.views()
                bounded = counted_together(views, beyond)
                if bounded != views:
                    segment.replace(bounded)
        return Batch(counted_together(batch.views, beyond), batch.through)

    def _max_keys(self) -> int:
        """The setting of the content that is current; the last one known where that cannot be read."""
        with suppress(ParquetryError, OSError):
            current = self.workspace_store.current()
            if current is not None and current.version != self._settings_of:
                self._settings = self.workspace_store.manifest(current.version).workspace.views
                self._settings_of = current.version
        return self._settings.max_keys

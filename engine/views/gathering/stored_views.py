"""The page views of one workspace in a store: segments go once into the counts, and once into files of rows.

Any number of processes may do this at once: the compare-and-set of ``today.parquet`` decides which of them has done it,
and a lock or a lease only spares the others the work. The order is always: claim by compare-and-set, write, remove the
segments. So what one left that was killed is either not claimed and never counts, or is finished by the next one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from engine.views.collecting.spool import VIEWS, View
from engine.views.collecting.targets import day_of, jst_day
from engine.views.counting import count_files
from engine.views.counting.count_files import Claim, CountState, new_write
from engine.views.counting.folding import Counting, Segments, next_batch
from engine.views.gathering.layout import day_and_number, last_filing, rows_key
from engine.views.gathering.pulled_counts import PulledCounts
from engine.views.gathering.row_files import row_files
from engine.views.gathering.segments import SegmentGone
from snapshots.store.objects import Conflict, Objects
from snapshots.store.store import WorkspaceStore

_ALL: Final = 1 << 62

_log = logging.getLogger("parquetry")


@dataclass(frozen=True, slots=True)
class FiledViews:
    """The result of a round."""

    counted: int = 0
    """Views that went into the counts."""
    filed: int = 0
    """Views whose rows went into files."""


class StoredViews:
    """Writes the views of one workspace into its store, a directory or a bucket."""

    def __init__(
        self,
        objects: Objects,
        workspace_store: WorkspaceStore,
        work: Path,
        changed: Callable[[str], None] = lambda _: None,
    ) -> None:
        """``objects`` are those of the store, ``workspace_store`` has the workspace's content. ``work`` is a directory
        for the counts, in which one process works at a time; ``changed`` is called with the workspace's ID before its
        counts change."""
        self.workspace = workspace_store.id
        self._objects = objects
        self._pulled = PulledCounts(objects, workspace_store.id, work)
        self._work = work
        self._counting = Counting(work, workspace_store)
        self._changed = changed
        self._pruned_day: int | None = None
        """The last JST day on which old rows were deleted."""

    @property
    def state(self) -> CountState:
        """The state of the counts in ``work``, which are the store's as of the last ``write``."""
        return self._pulled.state

    def write(self, segments: Segments, now: int, file_ms: int, *, flush: bool = False) -> FiledViews:
        """Write the segments. ``now`` is UTC milliseconds.

        Rows are filed if ``file_ms`` milliseconds have passed since the last time, or ``flush`` says so. Raises
        ``Conflict`` and ``SegmentGone`` where another process is quicker, ``StoreError`` and ``CountsDamaged``.
        """
        pulled, today = self._pulled, jst_day(now)
        pulled.refresh()
        before = settled(self._objects, self.workspace, pulled, segments, today)
        state, filed = self._filed(segments, before, ())
        state, counted = self._counting.add(segments, state)
        state = count_files.fold(self._work, state, now)
        in_work = pulled.state if state.write == before.write else state
        state = segments.remembered(state, before, today)
        claimed: Sequence[View] = ()
        while True:
            if state.filing.claim is None and (flush or now - state.filing.at >= file_ms or now < state.filing.at):
                state, claimed = _claimed(state, segments, now)
            if state != pulled.state:
                if state != in_work:
                    state = in_work = new_write(state)
                    count_files.restate(self._work, state)
                self._changed(self.workspace)  # before it is known: the answer may be lost
                pulled.push(state)
            if state.filing.claim is None:
                break
            state, more = self._filed(segments, state, claimed)
            filed += more
            if not flush and next_batch(segments, state.filing.through, state.through, most=1).through:
                # More than one claim has room for: on with the next.
                state, claimed = _claimed(state, segments, now)
        segments.remove(state, today)
        return FiledViews(counted, filed)

    def drop_old_rows(self, retention_days: int | None, now: int) -> None:
        """Delete, once a day, the files with rows of days that are not kept any more; ``None`` keeps all.

        ``now`` is UTC milliseconds. Raises ``StoreError`` and ``CountsDamaged``: the next call tries again, as it does
        where another process is quicker.
        """
        today = jst_day(now)
        if retention_days is None or self._pruned_day == today:
            return
        with suppress(Conflict):
            self._drop_rows_before(today - retention_days + 1)
            self._pruned_day = today

    def _drop_rows_before(self, first: int) -> None:
        old = [
            one.key
            for day in self._objects.folders(f"{self.workspace}/{VIEWS}")
            if day.startswith("day=") and day.removeprefix("day=") < str(day_of(first))
            for one in self._objects.names(f"{self.workspace}/{VIEWS}/{day}")
            if day_and_number(one.key) is not None
        ]
        if not old:
            return
        self._pulled.refresh()
        state = self._pulled.state
        if state.filing.kept_from < first:
            filing = msgspec.structs.replace(state.filing, kept_from=first)
            state = new_write(msgspec.structs.replace(state, filing=filing))
            count_files.restate(self._work, state)
            self._changed(self.workspace)
            self._pulled.push(state)
        self._objects.delete(old)

    def _filed(self, segments: Segments, state: CountState, views: Sequence[View]) -> tuple[CountState, int]:
        """Write the files that are claimed, if any are; return the state without the claim, and the number of rows.

        ``views`` are those of the claim where they have been read; they are read where there are none.
        """
        filing = state.filing
        claim = filing.claim
        if claim is None:
            return state, 0
        if not views:
            views = self._views_of(claim, segments, filing.through)
        for day, data in row_files(views).items():
            # One that is there with another content has the same rows, as another machine or program wrote it.
            with suppress(Conflict):
                self._objects.create(rows_key(self.workspace, day, claim.number), data)
        done = msgspec.structs.replace(filing, through=filing.through | claim.through, claim=None)
        return msgspec.structs.replace(state, filing=done), len(views)

    def _views_of(self, claim: Claim, segments: Segments, after: Mapping[str, int]) -> Sequence[View]:
        """Read the views of a claim that was found, ``after`` those that are in files already."""
        batch = next_batch(segments, after, claim.through, most=_ALL)
        if dict(batch.through) != dict(claim.through):
            # Listed before the claim was made, or removed since then by the machine that has finished it.
            batch = next_batch(segments.listed_again(), after, claim.through, most=_ALL)
            if dict(batch.through) != dict(claim.through):
                if self._pulled.refresh():
                    raise SegmentGone(f"{self.workspace}: another machine has written the rows of a claim.")
                _log.error(
                    "%s: views are counted whose segments were removed by somebody else; their rows are lost.",
                    self.workspace,
                )
        return batch.views


def settled(objects: Objects, workspace: str, pulled: PulledCounts, segments: Segments, today: int) -> CountState:
    """The state of counts that were got, with which a writer of ``segments`` goes on on ``today`` (days since 1970).

    Rows of counts that were brought here, or that an older program wrote in a directory, are in files from tomorrow on
    only. Those that still wait have their segments, and no other view has. Raises ``StoreError``.
    """
    state = pulled.state
    if not pulled.is_unsealed and (not state.through or bool(state.seen) == segments.remembers_senders):
        return state
    number = max(state.filing.number, last_filing(objects, workspace))
    return msgspec.structs.replace(
        state, seen={}, write="", filing=msgspec.structs.replace(state.filing, number=number, kept_from=today + 1)
    )


def _claimed(state: CountState, segments: Segments, now: int) -> tuple[CountState, Sequence[View]]:
    """The state with a claim for the files of the next rows, if there are any, and the views they are of."""
    batch = next_batch(segments, state.filing.through, state.through)
    if not batch.through:
        return state, ()
    number = state.filing.number + 1
    filing = msgspec.structs.replace(state.filing, number=number, at=now, claim=Claim(dict(batch.through), number))
    return msgspec.structs.replace(state, filing=filing), batch.views

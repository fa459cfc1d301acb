"""The writer of a bucket: segments of all machines go once into the counts and once into files of rows.

Any number of machines may do this at once: the compare-and-set of ``today.parquet`` decides which of them has done it,
and a lease only spares the others the work. The order is always: claim by compare-and-set, write, remove the segments.
So what a machine left that was killed is either not claimed and never counts, or is finished by the next one.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from engine.views.collecting.spool import View
from engine.views.collecting.targets import day_of, jst_day
from engine.views.counting import count_files
from engine.views.counting.count_files import Claim, CountState
from engine.views.counting.count_rows import CountsDamaged
from engine.views.counting.folding import Counting, next_batch
from engine.views.counting.writer import VIEWS, Written
from engine.views.gathering.layout import (
    HINT,
    SPOOL,
    Sent,
    closed_key,
    day_and_number,
    rows_key,
    segment_key,
    sent_views,
)
from engine.views.gathering.pulled_counts import PulledCounts, new_write
from engine.views.gathering.row_files import row_files
from engine.views.gathering.segments import BucketSegments, SegmentGone
from snapshots.problems import ParquetryError
from snapshots.store.changes import announce
from snapshots.store.durable import StoreError
from snapshots.store.objects import Conflict, Objects, StoreUnreachable
from snapshots.store.store import Store

FILE_MS: Final = 600_000
"""Milliseconds between two files of rows of a workspace, while views come in."""
_FORGOTTEN_DAYS: Final = 400
"""Days for which a sender is remembered that may come back, as a machine that was switched off does."""
_CLOSED_DAYS: Final = 2
"""Days for which a sender is remembered that said it sends no more: a request of its may still be under way."""
_ALL: Final = 1 << 62
_AT_ONCE: Final = 4
"""Workspaces that are written at the same time: most of that is waiting for the bucket."""

_log = logging.getLogger("parquetry")


@dataclass(frozen=True, slots=True)
class _Place:
    """One workspace, and the directory in which its counts are worked on."""

    workspace: str
    views: Path
    pulled: PulledCounts
    counting: Counting


class ViewGathering:
    """Writes the views of all workspaces of a bucket."""

    def __init__(
        self, objects: Objects, store: Store, work: Path, retention_days: int | None = None, *, only: str | None = None
    ) -> None:
        """``store`` is a mirror of the bucket's content, ``work`` a directory that nobody else works in.

        ``retention_days`` is the number of days for which raw rows are kept, ``None`` for ever; ``only`` is the one
        workspace that is written, ``None`` for all.
        """
        self._objects = objects
        self._store = store
        self._work = work
        self._retention_days = retention_days
        self._spool = SPOOL if only is None else f"{SPOOL}/{only}"
        self._places: dict[str, _Place] = {}
        self._pruned_day: dict[str, int] = {}
        """The day on which the old rows of a workspace were deleted last."""
        self._complaints: dict[str, str] = {}
        self._unannounced: set[str] = set()
        """Workspaces whose counts may have changed without the machines having been told."""

    def take_over(self) -> None:
        """Have the next round tell the machines to look at all counts.

        The one that wrote until now may have been killed between changing some and telling so.
        """
        self._unannounced.update(self._store.workspaces())

    def round(self, now: int, *, flush: bool = False) -> Written:
        """Write what was sent; ``now`` is UTC milliseconds, ``flush`` files rows also if that was done a moment ago.

        A workspace that another machine is writing is left to it, and one whose counts are damaged is logged; raises
        ``StoreError`` when the disk or the bucket refuses, after the other workspaces.
        """
        found = sent_views(self._objects.names(self._spool))
        places = [(place, sent) for name, sent in found.items() if (place := self._place(name)) is not None]
        try:
            with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="write-views") as threads:
                parts = [threads.submit(self._write_one, place, sent, now, flush=flush) for place, sent in places]
            self._drop_old_rows(now)
            done = [part.result() for part in parts]
        finally:
            if self._unannounced and announce(self._objects, *self._unannounced, key=HINT):
                self._unannounced.clear()
        return Written(sum(one.counted for one in done), sum(one.filed for one in done))

    def _write_one(self, place: _Place, sent: Sent, now: int, *, flush: bool) -> Written:
        try:
            written = self._write(place, sent, now, flush=flush)
        except (Conflict, SegmentGone):
            place.pulled.forget()
            return Written()
        except CountsDamaged as error:
            place.pulled.forget()
            self._complain(place.workspace, str(error))
            return Written()
        except BaseException:
            place.pulled.forget()
            raise
        self._complaints.pop(place.workspace, None)
        return written

    def _write(self, place: _Place, sent: Sent, now: int, *, flush: bool) -> Written:
        pulled = place.pulled
        pulled.refresh()
        segments = BucketSegments(self._objects, place.workspace, sent)
        today = jst_day(now)
        before = pulled.state
        if pulled.is_brought:
            filing = msgspec.structs.replace(before.filing, kept_from=today + 1)
            before = msgspec.structs.replace(before, filing=filing)
        state, filed = self._filed(place, segments, before, ())
        state, counted = place.counting.add(segments, state)
        state = count_files.fold(place.views, state, now)
        state = _with_senders(state, before, sent, today)
        claimed: Sequence[View] = ()
        while True:
            if state.filing.claim is None and (flush or now - state.filing.at >= FILE_MS or now < state.filing.at):
                state, claimed = _claimed(state, segments, now)
            if state != pulled.state:
                state = new_write(state)
                count_files.restate(place.views, state)
                self._unannounced.add(place.workspace)  # before it is known: the answer may be lost
                pulled.push(state)
            if state.filing.claim is None:
                break
            state, more = self._filed(place, segments, state, claimed)
            filed += more
            if not flush and next_batch(segments, state.filing.through, state.through, most=1).through:
                # More than one claim has room for: on with the next.
                state, claimed = _claimed(state, segments, now)
        self._remove(place.workspace, sent, state, today)
        return Written(counted, filed)

    def _filed(
        self, place: _Place, segments: BucketSegments, state: CountState, views: Sequence[View]
    ) -> tuple[CountState, int]:
        """Write the files that are claimed, if any are; return the state without the claim, and the number of rows.

        ``views`` are those of the claim where they have been read; they are read where there are none.
        """
        filing = state.filing
        claim = filing.claim
        if claim is None:
            return state, 0
        if not views:
            views = self._views_of(claim, place, segments, filing.through)
        for day, data in row_files(views).items():
            # One that is there with another content has the same rows, as another machine or program wrote it.
            with suppress(Conflict):
                self._objects.create(rows_key(place.workspace, day, claim.number), data)
        done = msgspec.structs.replace(filing, through=filing.through | claim.through, claim=None)
        return msgspec.structs.replace(state, filing=done), len(views)

    def _views_of(
        self, claim: Claim, place: _Place, segments: BucketSegments, after: Mapping[str, int]
    ) -> Sequence[View]:
        """Read the views of a claim that was found, ``after`` those that are in files already."""
        batch = next_batch(segments, after, claim.through, most=_ALL)
        if dict(batch.through) != dict(claim.through):
            # Listed before the claim was made, or removed since then by the machine that has finished it.
            listed = self._objects.names(f"{SPOOL}/{place.workspace}")
            segments = BucketSegments(self._objects, place.workspace, sent_views(listed).get(place.workspace, Sent()))
            batch = next_batch(segments, after, claim.through, most=_ALL)
            if dict(batch.through) != dict(claim.through):
                if place.pulled.refresh():
                    raise SegmentGone(f"{place.workspace}: another machine has written the rows of a claim.")
                _log.error(
                    "%s: views are counted whose segments were removed by somebody else; their rows are lost.",
                    place.workspace,
                )
        return batch.views

    def _remove(self, workspace: str, sent: Sent, state: CountState, today: int) -> None:
        """Remove the segments that are in both sinks, and the marks of closed senders once the state has them."""
        keys = []
        for sender, numbers in sent.segments.items():
            held = _held(state, sender)
            keys += [segment_key(workspace, sender, number) for number in numbers if number <= held]
        keys += [
            closed_key(workspace, sender)
            for sender in sent.closed
            if state.seen.get(sender, 0) <= today - _FORGOTTEN_DAYS + _CLOSED_DAYS
        ]
        self._objects.delete(keys)

    def _drop_old_rows(self, now: int) -> None:
        """Once a day, delete the rows of days that are not kept any more."""
        today = jst_day(now)
        if self._retention_days is None:
            return
        first = today - self._retention_days + 1
        for workspace in self._store.workspaces():
            if self._pruned_day.get(workspace) == today:
                continue
            place = self._place(workspace)
            if place is None:
                continue
            try:
                self._drop_rows_before(first, place)
            except Conflict:
                place.pulled.forget()  # tried again with the next round, as is all that fails
            except (ParquetryError, OSError) as error:
                place.pulled.forget()
                self._complain(f"{workspace}: deleting old rows", str(error), "They are kept until then.")
                if isinstance(error, StoreUnreachable):
                    raise
            else:
                self._complaints.pop(f"{workspace}: deleting old rows", None)
                self._pruned_day[workspace] = today

    def _drop_rows_before(self, first: int, place: _Place) -> None:
        """Delete a workspace's rows of days before ``first``."""
        workspace = place.workspace
        old = [
            one.key
            for day in self._objects.folders(f"{workspace}/{VIEWS}")
            if day.startswith("day=") and day.removeprefix("day=") < str(day_of(first))
            for one in self._objects.names(f"{workspace}/{VIEWS}/{day}")
            if day_and_number(one.key) is not None
        ]
        if not old:
            return
        place.pulled.refresh()
        state = place.pulled.state
        if state.filing.kept_from < first:
            filing = msgspec.structs.replace(state.filing, kept_from=first)
            state = new_write(msgspec.structs.replace(state, filing=filing))
            count_files.restate(place.views, state)
            self._unannounced.add(workspace)
            place.pulled.push(state)
        self._objects.delete(old)

    def _place(self, workspace: str) -> _Place | None:
        found = self._places.get(workspace)
        if found is None:
            try:
                inside = self._store.workspace(workspace)
            except StoreError as error:
                self._complain(workspace, str(error))
                return None
            views = self._work / workspace
            pulled = PulledCounts(self._objects, workspace, views)
            found = self._places[workspace] = _Place(workspace, views, pulled, Counting(views, inside))
        return found

    def _complain(self, where: str, complaint: str, until_then: str = "Its views wait in the bucket.") -> None:
        if self._complaints.get(where) != complaint:
            _log.error("%s: %s %s", where, complaint, until_then)
        self._complaints[where] = complaint


def _claimed(state: CountState, segments: BucketSegments, now: int) -> tuple[CountState, Sequence[View]]:
    """The state with a claim for the files of the next rows, if there are any, and the views they are of."""
    batch = next_batch(segments, state.filing.through, state.through)
    if not batch.through:
        return state, ()
    number = state.filing.number + 1
    filing = msgspec.structs.replace(state.filing, number=number, at=now, claim=Claim(dict(batch.through), number))
    return msgspec.structs.replace(state, filing=filing), batch.views


def _with_senders(state: CountState, before: CountState, sent: Sent, today: int) -> CountState:
    """The state with the senders that it has to remember, and since when."""
    seen = dict(state.seen)
    for sender, number in state.through.items():
        if before.through.get(sender) != number or sender not in seen:
            seen[sender] = today
    for sender in sent.closed:
        if sender in seen and _is_done(state, sent, sender):
            seen[sender] = min(seen[sender], today - _FORGOTTEN_DAYS + _CLOSED_DAYS)
    gone = {sender for sender, day in seen.items() if day < today - _FORGOTTEN_DAYS and sender not in sent.segments}
    if not gone and seen == state.seen:
        return state

    def kept(numbers: Mapping[str, int]) -> dict[str, int]:
        return {sender: number for sender, number in numbers.items() if sender not in gone}

    filing = msgspec.structs.replace(state.filing, through=kept(state.filing.through))
    return msgspec.structs.replace(state, through=kept(state.through), seen=kept(seen), filing=filing)


def _held(state: CountState, sender: str) -> int:
    """The number of the last segment of a sender that is in the counts and in files of rows."""
    return min(state.through.get(sender, 0), state.filing.through.get(sender, 0))


def _is_done(state: CountState, sent: Sent, sender: str) -> bool:
    """Whether every segment of a sender that is there is in both sinks."""
    return all(number <= _held(state, sender) for number in sent.segments.get(sender, ()))

"""The segments of one workspace in a bucket, for the writing that they share with the spool of a machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import msgspec

from engine.views.collecting.spool import View, lines_of, views_in
from engine.views.counting.count_files import CountState, held
from engine.views.counting.folding import SealedSegment
from engine.views.gathering.layout import SPOOL, Sent, closed_key, segment_key, sent_views
from snapshots.store.durable import StoreError
from snapshots.store.objects import ObjectContent, Objects

_FORGOTTEN_DAYS: Final = 400
"""Days for which a sender is remembered that may come back, as a machine that was switched off does."""
_CLOSED_DAYS: Final = 2
"""Days for which a sender is remembered that said it sends no more: a request of its may still be under way."""


class SegmentGone(StoreError):
    """Another machine has written a segment meanwhile, and removed it."""


@dataclass(frozen=True)
class BucketSegment:
    """A segment in a bucket."""

    number: int
    key: str
    bucket: BucketSegments

    def views(self) -> list[View]:
        """The views of the segment, in order. Raises ``SegmentGone`` and ``StoreError``."""
        return views_in(self.bucket.content(self.key).data)

    def replace(self, views: Iterable[View]) -> None:
        """Replace the views of the segment. Raises ``Conflict`` if another machine has done so, and ``StoreError``."""
        self.bucket.replace(self.key, lines_of(views))


class BucketSegments:
    """The segments that were listed."""

    remembers_senders: Final = True

    def __init__(self, objects: Objects, workspace: str, sent: Sent | None = None) -> None:
        """``sent`` is what was listed; without it, the bucket is asked. Raises ``StoreError``."""
        self._objects = objects
        self._workspace = workspace
        if sent is None:
            sent = sent_views(objects.names(f"{SPOOL}/{workspace}")).get(workspace, Sent())
        self._sent = sent
        self._read = lru_cache(maxsize=64)(self._content)

    def workers(self) -> list[str]:
        return sorted(self._sent.segments)

    def after(self, worker: str, through: int) -> Iterable[SealedSegment]:
        for number in self._sent.segments.get(worker, ()):
            if number > through:
                yield BucketSegment(number, segment_key(self._workspace, worker, number), self)

    def listed_again(self) -> BucketSegments:
        """Return the segments that are there now. Raises ``StoreError``."""
        return BucketSegments(self._objects, self._workspace)

    def remembered(self, state: CountState, before: CountState, today: int) -> CountState:
        """Return the state with the senders that have to be remembered, and since when: all that may send again."""
        seen = dict(state.seen)
        for sender, number in state.through.items():
            if before.through.get(sender) != number or sender not in seen:
                seen[sender] = today
        for sender in self._sent.closed:
            if sender in seen and self._is_done(state, sender):
                seen[sender] = min(seen[sender], today - _FORGOTTEN_DAYS + _CLOSED_DAYS)
        senders = self._sent.segments
        gone = {sender for sender, day in seen.items() if day < today - _FORGOTTEN_DAYS and sender not in senders}
        if not gone and seen == state.seen:
            return state

        def kept(numbers: Mapping[str, int]) -> dict[str, int]:
            return {sender: number for sender, number in numbers.items() if sender not in gone}

        filing = msgspec.structs.replace(state.filing, through=kept(state.filing.through))
        return msgspec.structs.replace(state, through=kept(state.through), seen=kept(seen), filing=filing)

    def remove(self, state: CountState, today: int) -> None:
        """Remove the segments that are counted and filed, and the marks of closed senders once the state has them.

        Raises ``StoreError``.
        """
        keys = [
            segment_key(self._workspace, sender, number)
            for sender, numbers in self._sent.segments.items()
            for number in numbers
            if number <= held(state, sender)
        ]
        keys += [
            closed_key(self._workspace, sender)
            for sender in self._sent.closed
            if state.seen.get(sender, 0) <= today - _FORGOTTEN_DAYS + _CLOSED_DAYS
        ]
        self._objects.delete(keys)

    def content(self, key: str) -> ObjectContent:
        """Read a segment, which does not change while this machine is the only one that writes."""
        return self._read(key)

    def replace(self, key: str, data: bytes) -> None:
        self._objects.replace(key, data, self.content(key).tag)
        self._read.cache_clear()

    def _content(self, key: str) -> ObjectContent:
        found = self._objects.read(key)
        if found is None:
            raise SegmentGone(f"{key} is gone: another machine has written its views.")
        return found

    def _is_done(self, state: CountState, sender: str) -> bool:
        """Whether every segment of a sender that is there is counted and filed."""
        return all(number <= held(state, sender) for number in self._sent.segments.get(sender, ()))

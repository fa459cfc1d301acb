"""The segments of one workspace in a bucket, for the counting that they share with the spool of a machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from engine.views.collecting.spool import View, lines_of, views_in
from engine.views.counting.folding import SealedSegment
from engine.views.gathering.layout import Sent, segment_key
from snapshots.store.durable import StoreError
from snapshots.store.objects import Content, Objects


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

    def __init__(self, objects: Objects, workspace: str, sent: Sent) -> None:
        self._objects = objects
        self._workspace = workspace
        self._sent = sent
        self._read = lru_cache(maxsize=64)(self._content)

    def workers(self) -> list[str]:
        return sorted(self._sent.segments)

    def after(self, worker: str, through: int) -> Iterable[SealedSegment]:
        for number in self._sent.segments.get(worker, ()):
            if number > through:
                yield BucketSegment(number, segment_key(self._workspace, worker, number), self)

    def remembered(self, through: Mapping[str, int]) -> dict[str, int]:
        """Return all of it: a sender with nothing in the bucket may send again."""
        return dict(through)

    def content(self, key: str) -> Content:
        """Read a segment, which does not change while this machine is the only one that writes."""
        return self._read(key)

    def replace(self, key: str, data: bytes) -> None:
        self._objects.replace(key, data, self.content(key).tag)
        self._read.cache_clear()

    def _content(self, key: str) -> Content:
        found = self._objects.read(key)
        if found is None:
            raise SegmentGone(f"{key} is gone: another machine has written its views.")
        return found

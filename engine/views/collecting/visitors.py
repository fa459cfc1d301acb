"""The last views: duplicates and the limit per address, in memory that a machine's workers share (decision 31).

Neither addresses nor User-Agents are kept, only keyed hashes of them. The key is drawn again every day, and lives
nowhere but in this memory. Its size is fixed: with more visitors than fit, those longest gone are forgotten, and
a view of theirs may count again.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from enum import Enum
from hashlib import blake2b
from typing import Final

from engine.views.collecting.shared_memory import SharedMemory

SEEN: Final = 1 << 20
"""Views of a visitor and a target that are remembered: 30 minutes of 580 new visits a second."""
ADDRESSES: Final = 1 << 15
"""Addresses whose last minute is remembered."""

_WAYS: Final = 16
"""Places in a bucket, which holds the hashes with the same last digits."""
_HEAD: Final = struct.Struct("<q32sq32s")
"""The number and key of today and of the day before, whose views can still be duplicated for a while."""
_HEAD_BYTES: Final = 128
_DROPPED: Final = struct.Struct("<Qq")
"""The number of views that could not be kept, and the instant of the last (UTC milliseconds)."""
_DROPPED_AT: Final = 96
_STAMPS_AT: Final = _WAYS * 8
_BUCKET: Final = _STAMPS_AT + _WAYS * 4
_STAMPS: Final = struct.Struct(f"<{_WAYS}I")
_STAMP: Final = struct.Struct("<I")
_SECONDS: Final = 61
"""Seconds of a minute: the one under way and the sixty before it, so that no span of a minute exceeds the limit."""
_RING: Final = struct.Struct(f"<{_SECONDS}H")
_ONE_VIEW: Final = [_RING.pack(*(int(second == first) for second in range(_SECONDS))) for first in range(_SECONDS)]
"""The ring of an address whose first view in a minute was in that second."""
_ADDRESS_BUCKET: Final = _BUCKET + _WAYS * _RING.size
_MOST_A_SECOND: Final = 0xFFFF


class Verdict(Enum):
    """The verdict on a view."""

    NEW = "new"
    DUPLICATE = "duplicate"
    LIMITED = "limited"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a workspace (decision 31)."""

    dedupe_seconds: int = 1800
    """Seconds within which a view is a duplicate; 0: every view is new."""
    per_address_per_minute: int = 60


class Visitors:
    """The views of the last minutes, by visitor and target. Every method may be called in any process or thread.

    ``now`` is UTC milliseconds and decides which day it is; ``moment`` is in seconds of ``time.monotonic``, the same
    for all processes of a machine and never set back.
    """

    def __init__(self, processes: int = 1, *, seen: int = SEEN, addresses: int = ADDRESSES) -> None:
        """``processes`` is how many will share it, each getting it as it is started."""
        self._seen_buckets = seen // _WAYS
        self._address_buckets = addresses // _WAYS
        self._addresses_at = _HEAD_BYTES + self._seen_buckets * _BUCKET
        size = self._addresses_at + self._address_buckets * _ADDRESS_BUCKET
        self.memory = SharedMemory(size, processes=processes)

    def admit(
        self, workspace: str, address: bytes, user_agent: bytes, target: bytes, limits: Limits, now: int, moment: float
    ) -> Verdict:
        """Judge a view, and remember it if it is ``NEW``. A duplicate counts for the limit of its address; a view over
        the limit does not.

        A duplicate is one within ``dedupe_seconds`` of the view that was counted last.
        """
        second = int(moment) + 1
        with self.memory:
            key, before = self._keys(now)
            if not self._within_limit(
                hash_of(key, b"a%c%b%b" % (len(address), address, workspace.encode())),
                limits.per_address_per_minute,
                second,
            ):
                return Verdict.LIMITED
            if not limits.dedupe_seconds:
                return Verdict.NEW
            visitor = visitor_of(workspace, address, user_agent, target)
            if before is not None and self._was_seen(hash_of(before, visitor), second, limits.dedupe_seconds):
                return Verdict.DUPLICATE
            new = self._remember(hash_of(key, visitor), second, limits.dedupe_seconds)
            return Verdict.NEW if new else Verdict.DUPLICATE

    def forget(self, workspace: str, address: bytes, user_agent: bytes, target: bytes, now: int) -> None:
        """Forget a view that could not be kept, so that it counts when it comes again."""
        with self.memory:
            mark = hash_of(self._keys(now)[0], visitor_of(workspace, address, user_agent, target))
            bucket = self._seen_bucket(mark)
            way, last = self._way_of(bucket, mark)
            if last is not None:
                self._set_mark(bucket, way, bytes(8))

    def count_dropped(self, now: int) -> int:
        """Note that a view was dropped at ``now`` (UTC milliseconds). Returns the number dropped since the start."""
        with self.memory as memory:
            count = int(_DROPPED.unpack_from(memory, _DROPPED_AT)[0]) + 1
            _DROPPED.pack_into(memory, _DROPPED_AT, count, now)
            return count

    def dropped(self) -> tuple[int, int]:
        """The number of views that all workers have dropped since the start, and the instant of the last (UTC ms)."""
        with self.memory as memory:
            count, last = _DROPPED.unpack_from(memory, _DROPPED_AT)
            return int(count), int(last)

    def _keys(self, now: int) -> tuple[bytes, bytes | None]:
        """Today's key, and the day's before where there was one: a visit around midnight is one visit."""
        memory = self.memory.bytes
        today = now // 86_400_000 + 1
        day, key, earlier, before = _HEAD.unpack_from(memory, 0)
        if day != today:
            earlier, before = (day, key) if day == today - 1 else (0, bytes(32))
            day, key = today, os.urandom(32)
            _HEAD.pack_into(memory, 0, day, key, earlier, before)
        return key, before if earlier else None

    def _was_seen(self, mark: bytes, second: int, within: int) -> bool:
        _, last = self._way_of(self._seen_bucket(mark), mark)
        return last is not None and second - last < within

    def _remember(self, mark: bytes, second: int, within: int) -> bool:
        """Note a view; ``False`` when it is a duplicate."""
        bucket = self._seen_bucket(mark)
        way, last = self._way_of(bucket, mark)
        if last is not None and second - last < within:
            return False
        if last is None:
            self._set_mark(bucket, way, mark)
        self._set_stamp(bucket, way, second)
        return True

    def _within_limit(self, mark: bytes, limit: int, second: int) -> bool:
        """Count one view of an address in a ring of seconds, unless its minute is full."""
        data = self.memory.bytes
        bucket = self._address_bucket(mark)
        way, last = self._way_of(bucket, mark)
        ring = bucket + _BUCKET + way * _RING.size
        if last is None:
            self._set_mark(bucket, way, mark)
        if last is None or second - last >= _SECONDS:
            data[ring : ring + _RING.size] = _ONE_VIEW[second % _SECONDS]
            self._set_stamp(bucket, way, second)
            return True
        counts = list(_RING.unpack_from(data, ring))
        for passed in range(last + 1, second + 1):
            counts[passed % _SECONDS] = 0
        if sum(counts) >= limit:
            return False
        counts[second % _SECONDS] = min(counts[second % _SECONDS] + 1, _MOST_A_SECOND)
        self._set_stamp(bucket, way, max(second, last))
        _RING.pack_into(data, ring, *counts)
        return True

    # A bucket is its marks, then the second of each, then for addresses the ring of each.

    def _seen_bucket(self, mark: bytes) -> int:
        return _HEAD_BYTES + int.from_bytes(mark[8:], "little") % self._seen_buckets * _BUCKET

    def _address_bucket(self, mark: bytes) -> int:
        return self._addresses_at + int.from_bytes(mark[8:], "little") % self._address_buckets * _ADDRESS_BUCKET

    def _way_of(self, bucket: int, mark: bytes) -> tuple[int, int | None]:
        """The place of a mark in a bucket, and its second; or the place of the longest gone, and ``None``."""
        held = self.memory.bytes[bucket : bucket + _BUCKET]
        at = held.find(mark[:8], 0, _STAMPS_AT)
        while at % 8 and at > 0:  # the end of one mark and the beginning of the next
            at = held.find(mark[:8], at + 1, _STAMPS_AT)
        stamps = _STAMPS.unpack_from(held, _STAMPS_AT)
        if at >= 0:
            return at // 8, stamps[at // 8]
        return stamps.index(min(stamps)), None

    def _set_mark(self, bucket: int, way: int, mark: bytes) -> None:
        self.memory.bytes[bucket + way * 8 : bucket + way * 8 + 8] = mark[:8]

    def _set_stamp(self, bucket: int, way: int, second: int) -> None:
        _STAMP.pack_into(self.memory.bytes, bucket + _STAMPS_AT + way * 4, second)


def hash_of(key: bytes, text: bytes) -> bytes:
    """Return 16 bytes that stand for a text, and that nobody without the key can trace back."""
    return blake2b(text, key=key, digest_size=16).digest()


def visitor_of(workspace: str, address: bytes, user_agent: bytes, target: bytes) -> bytes:
    """Return the visitor and the target as one text: no part holds a NUL, so they never run together."""
    return b"v%c%b%b\0%b\0%b" % (len(address), address, workspace.encode(), user_agent, target)

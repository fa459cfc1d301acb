"""Who has viewed what: duplicates and the limit per address, in memory that a machine's workers share (decision 31).

Neither addresses nor User-Agents are kept, only keyed hashes of them. The key is drawn anew every day, and lives
nowhere but in this memory. Its size is fixed: where more visitors come than it holds, the longest gone are forgotten,
and a view of theirs may then count again.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from enum import Enum
from hashlib import blake2b
from typing import Final

from engine.page_views.shared_memory import SharedMemory

SEEN: Final = 1 << 21
"""Views of a visitor and a target that are remembered: the last 30 minutes of 1,100 visitors a second."""
ADDRESSES: Final = 1 << 16
"""Addresses whose last minute is remembered."""

_WAYS: Final = 16
"""Places in a bucket, which is where everything with the same last digits of its hash goes."""
_HEAD: Final = struct.Struct("<q32sq32s")
"""Today's number and key, and the day's before: it is kept while views under it can still be duplicated."""
_HEAD_BYTES: Final = 128
_DROPPED: Final = struct.Struct("<Qq")
"""How many views could not be kept, and when the last was (UTC milliseconds)."""
_DROPPED_AT: Final = 96
_SEEN_BUCKET: Final = _WAYS * 12
_STAMPS: Final = struct.Struct(f"<{_WAYS}I")
_STAMP: Final = struct.Struct("<I")
_SECONDS: Final = 61
"""A minute is the second under way and the sixty before it: so no span of a minute ever holds more than the limit."""
_ADDRESS: Final = struct.Struct(f"<8sI{_SECONDS}H")
_ADDRESS_BUCKET: Final = _WAYS * _ADDRESS.size
_MOST_A_SECOND: Final = 0xFFFF


class Verdict(Enum):
    """What the memory says of a view."""

    NEW = "new"
    DUPLICATE = "duplicate"
    LIMITED = "limited"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a workspace allows (decision 31)."""

    dedupe_seconds: int = 1800
    """0: every view is a new one."""
    per_address_per_minute: int = 60


class Visitors:
    """The views of the last minutes, by visitor and target. Every method may be called in any process or thread.

    ``now`` is UTC milliseconds and decides which day it is; ``moment`` is in seconds of ``time.monotonic``, the same
    for all processes of a machine and never set back.
    """

    def __init__(self, memory: SharedMemory | None = None, *, seen: int = SEEN, addresses: int = ADDRESSES) -> None:
        self._seen_buckets = seen // _WAYS
        self._address_buckets = addresses // _WAYS
        self._addresses_at = _HEAD_BYTES + self._seen_buckets * _SEEN_BUCKET
        size = self._addresses_at + self._address_buckets * _ADDRESS_BUCKET
        self.memory = memory or SharedMemory(size)

    def admit(
        self, workspace: str, address: bytes, user_agent: bytes, target: bytes, limits: Limits, now: int, moment: float
    ) -> Verdict:
        """Ask for one view; it is remembered if it is ``NEW``. A duplicate uses up the limit of its address, a view
        over the limit does not.

        A duplicate is one within ``dedupe_seconds`` of the view that was counted last.
        """
        second = int(moment) + 1
        scope = workspace.encode()
        with self.memory:
            key, before = self._keys(now)
            place = _hash(key, b"a", scope, address)
            if not self._within_limit(place, limits.per_address_per_minute, second):
                return Verdict.LIMITED
            if not limits.dedupe_seconds:
                return Verdict.NEW
            mark = _hash(key, b"v", scope, address, user_agent, target)
            marks = [mark] if before is None else [mark, _hash(before, b"v", scope, address, user_agent, target)]
            if any(self._was_seen(one, second, limits.dedupe_seconds) for one in marks):
                return Verdict.DUPLICATE
            self._remember(mark, second)
            return Verdict.NEW

    def forget(self, workspace: str, address: bytes, user_agent: bytes, target: bytes, now: int) -> None:
        """Take back a view that could not be kept, so that it counts when it comes again."""
        with self.memory as memory:
            mark = _hash(self._keys(now)[0], b"v", workspace.encode(), address, user_agent, target)
            at = self._find(mark)
            if at is not None:
                memory[at : at + 8] = bytes(8)

    def count_dropped(self, now: int) -> int:
        """Note that a view was dropped at ``now`` (UTC milliseconds): how many that makes since the start."""
        with self.memory as memory:
            count = int(_DROPPED.unpack_from(memory, _DROPPED_AT)[0]) + 1
            _DROPPED.pack_into(memory, _DROPPED_AT, count, now)
            return count

    def dropped(self) -> tuple[int, int]:
        """How many views all workers have dropped since the start, and when the last one (UTC milliseconds)."""
        with self.memory as memory:
            count, last = _DROPPED.unpack_from(memory, _DROPPED_AT)
            return int(count), int(last)

    def _keys(self, now: int) -> tuple[bytes, bytes | None]:
        """Today's key and, where the day before had one, that: a visit around midnight is still one visit."""
        memory = self.memory.bytes
        today = now // 86_400_000 + 1
        day, key, earlier, before = _HEAD.unpack_from(memory, 0)
        if day != today:
            earlier, before = (day, key) if day == today - 1 else (0, bytes(32))
            day, key = today, os.urandom(32)
            _HEAD.pack_into(memory, 0, day, key, earlier, before)
        return key, before if earlier else None

    def _seen_bucket(self, mark: bytes) -> int:
        return _HEAD_BYTES + int.from_bytes(mark[8:], "little") % self._seen_buckets * _SEEN_BUCKET

    def _find(self, mark: bytes) -> int | None:
        """Where a mark is. A bucket is all its marks, then the seconds they were made at."""
        start = at = self._seen_bucket(mark)
        end = start + _WAYS * 8
        find = self.memory.bytes.find
        while (at := find(mark[:8], at, end)) >= 0:
            if (at - start) % 8 == 0:
                return at
            at += 1
        return None

    def _was_seen(self, mark: bytes, second: int, within: int) -> bool:
        at = self._find(mark)
        if at is None:
            return False
        start = self._seen_bucket(mark)
        stamp = int(_STAMP.unpack_from(self.memory.bytes, start + _WAYS * 8 + (at - start) // 2)[0])
        return second - stamp < within

    def _remember(self, mark: bytes, second: int) -> None:
        start = self._seen_bucket(mark)
        at = self._find(mark)
        if at is None:
            stamps = _STAMPS.unpack_from(self.memory.bytes, start + _WAYS * 8)
            at = start + stamps.index(min(stamps)) * 8
        _STAMP.pack_into(self.memory.bytes, start + _WAYS * 8 + (at - start) // 2, second)
        self.memory.bytes[at : at + 8] = mark[:8]

    def _within_limit(self, place: bytes, limit: int, second: int) -> bool:
        """Count one view of an address in a ring of seconds, unless its minute is full."""
        data = self.memory.bytes
        start = self._addresses_at + int.from_bytes(place[8:], "little") % self._address_buckets * _ADDRESS_BUCKET
        oldest, oldest_at = second + 1, start
        for at in range(start, start + _ADDRESS_BUCKET, _ADDRESS.size):
            if data[at : at + 8] == place[:8]:
                break
            last = int(_STAMP.unpack_from(data, at + 8)[0])
            if last < oldest:
                oldest, oldest_at = last, at
        else:
            at = oldest_at
            data[at : at + _ADDRESS.size] = place[:8] + bytes(_ADDRESS.size - 8)
        _, last, *counts = _ADDRESS.unpack_from(data, at)
        if second - last >= _SECONDS:
            counts = [0] * _SECONDS
        else:
            for passed in range(last + 1, second + 1):
                counts[passed % _SECONDS] = 0
        if sum(counts) >= limit:
            return False
        counts[second % _SECONDS] = min(counts[second % _SECONDS] + 1, _MOST_A_SECOND)
        _ADDRESS.pack_into(data, at, place[:8], max(second, last), *counts)
        return True


def _hash(key: bytes, *parts: bytes) -> bytes:
    digest = blake2b(key=key, digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(4, "little"))
        digest.update(part)
    return digest.digest()

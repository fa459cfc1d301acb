"""The instants at which there is news though nobody publishes: periods of entries and keys begin or end."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from engine.access.keys.keys import EXPIRING_DAYS, Key
from engine.changes.published_rows import opened_published
from snapshots.columns import FileKind
from snapshots.model import ALWAYS, NEVER
from snapshots.store.store import WorkspaceStore

if TYPE_CHECKING:
    Instants = np.ndarray[Any, np.dtype[np.int64]]


class KeyEventType(StrEnum):
    """What may happen to a key by the passage of time."""

    EXPIRING = "key.expiring"
    """Its last day is as near as the e-mail's (contract 6)."""
    EXPIRED = "key.expired"


class KeyEvent(msgspec.Struct, frozen=True):
    """A key's validity that nears its end, or is over."""

    at: int
    """UTC milliseconds."""
    type: KeyEventType
    key: Key


class Flips:
    """The instants, ascending, at which a publish period of any entry of a version begins or ends."""

    def __init__(self, instants: Instants) -> None:
        self._instants: Final = instants

    def last(self, after: int, until: int) -> int | None:
        """Return the last instant after one, until another (included); ``None`` for none. All UTC milliseconds."""
        place = int(np.searchsorted(self._instants, until, side="right"))
        found = int(self._instants[place - 1]) if place else None
        return found if found is not None and found > after else None

    def next(self, after: int) -> int | None:
        """Return the first instant after one; ``None`` for none."""
        place = int(np.searchsorted(self._instants, after, side="right"))
        return int(self._instants[place]) if place < len(self._instants) else None


def flips_of(place: WorkspaceStore, version: str) -> Flips:
    """Return the flips of a version. Reads the live windows of all its published files.

    Raises ``MissingVersion``, ``ManifestError`` or ``StoreError``.
    """
    found = [np.zeros(0, np.int64)]
    for file in place.manifest(version).files:
        if file.kind is FileKind.PUBLISHED:
            with opened_published(place.bring_file(version, file)) as rows:
                windows = rows.windows()
            begin, end = windows.live_from, windows.live_until
            is_ever_live = begin < end
            found += [begin[is_ever_live & (begin > ALWAYS)], end[is_ever_live & (end < NEVER)]]
    return Flips(np.unique(np.concatenate(found)))


def key_events(keys: Iterable[Key], zone: tzinfo) -> list[KeyEvent]:
    """Return what will happen, or has happened, to keys by the passage of time, in its order.

    Days begin at 0:00 in ``zone``, the workspace's. Nothing happens to disabled keys, and a key that was created with
    its last day near is never told to be expiring (contract 6.3).
    """
    found = []
    for key in keys:
        end = key.period.end
        if end is None or key.disabled:
            continue
        near, over = _midnight(end - timedelta(days=EXPIRING_DAYS), zone), _midnight(end + timedelta(days=1), zone)
        if near > key.created_at:
            found.append(KeyEvent(near, KeyEventType.EXPIRING, key))
        if over > key.created_at:
            found.append(KeyEvent(over, KeyEventType.EXPIRED, key))
    return sorted(found, key=lambda event: (event.at, event.key.id))


def _midnight(day: date, zone: tzinfo) -> int:
    return int(datetime.combine(day, time(), zone).astimezone(UTC).timestamp()) * 1000

"""Tell what happens to keys by the passage of time: they are about to expire, and expire."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum

import msgspec

from engine.access.keys.keys import EXPIRING_DAYS, Key


class KeyEventType(StrEnum):
    """An event that the passage of time brings about for a key."""

    EXPIRING = "key.expiring"
    """The key's last day is as near as when the e-mail about it is sent (contract 6)."""
    EXPIRED = "key.expired"


class KeyEvent(msgspec.Struct, frozen=True):
    """A key's validity that nears its end, or is over."""

    at: int
    """UTC milliseconds."""
    type: KeyEventType
    key: Key


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

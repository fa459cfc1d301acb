"""Instants as people read them: ``1 Mar 2027, 09:00``, and how much later one is than another: ``a month later``."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from snapshots.times import format_datetime

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_LONG: Final = 60
"""Days from which a stretch of time is told in months, also where it is not exactly some."""


def shown_time(ms: int, zone: tzinfo) -> str:
    """Return UTC milliseconds as the clocks of a zone show them, ``1 Mar 2027, 09:00``; with seconds where there are
    any, and in UTC in years that the zone's calendar does not have."""
    local = _local(ms, zone)
    if local is None:
        return f"{format_datetime(ms)[:19]}Z"
    seconds = f":{local.second:02}" if local.second else ""
    return f"{local.day} {_MONTHS[local.month - 1]} {local.year}, {local.hour:02}:{local.minute:02}{seconds}"


def how_much_later(before: int, after: int, zone: tzinfo) -> str:
    """Return how much later than one instant another is, by the clocks of a zone: ``a month later``, ``2 days
    earlier``; ``at the same time`` for equal ones."""
    if before == after:
        return "at the same time"
    first, last = sorted((before, after))
    return f"{_stretch(first, last, zone)} {'later' if before < after else 'earlier'}"


def _stretch(first: int, last: int, zone: tzinfo) -> str:
    one, other = _local(first, zone), _local(last, zone)
    if one is None or other is None:
        return _lasting((last - first) // 1000)
    if one.time() == other.time():
        if one.day == other.day:
            months = (other.year - one.year) * 12 + other.month - one.month
            return _several(months, "month") if months % 12 else _several(months // 12, "year")
        days = (other.date() - one.date()).days
        if days < _LONG or not days % 7:
            return _several(days, "day") if days % 7 else _several(days // 7, "week")
    return _lasting((last - first) // 1000)


def _lasting(seconds: int) -> str:
    """Return a stretch of time in the two largest units that it has."""
    if seconds >= _LONG * _DAY:
        months = round(seconds / _DAY / 30.44)
        return f"about {_several(months, 'month')}"
    parts = []
    for unit, length in (("day", _DAY), ("hour", _HOUR), ("minute", _MINUTE), ("second", 1)):
        if seconds >= length:
            parts.append(_several(seconds // length, unit))
            seconds %= length
        elif parts:
            break
    return " and ".join(parts[:2]) or "less than a second"


def _several(count: int, unit: str) -> str:
    article = "an" if unit == "hour" else "a"
    return f"{article} {unit}" if count == 1 else f"{count:,} {unit}s"


def _local(ms: int, zone: tzinfo) -> datetime | None:
    try:
        return (_EPOCH + timedelta(milliseconds=ms)).astimezone(zone).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None

"""Tell of a date-time without an offset whether it comes twice, or not at all, because clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache

from snapshots.times import format_datetime, parse_written_datetime

DOUBTFUL_TIME = "doubtful-time"
"""The kind of the problem of such a time."""
_ELSEWHERE = timezone(timedelta(hours=1))
_HOUR = 3_600_000
_USUAL_LENGTH = 40
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def doubtful_time(text: str, zone: tzinfo) -> str | None:
    """Return a sentence about a date-time or bare date that ``zone`` has twice or not at all: which instant is taken,
    and what to write instead; ``None`` for one that has an offset, or is there once.

    ``text`` is one that ``parse_written_datetime`` takes for this zone.
    """
    if zone is UTC or text[-1] in "Zz":
        return None
    return (_doubt if len(text) <= _USUAL_LENGTH else _doubt.__wrapped__)(text, zone)


@lru_cache(4096)
def _doubt(text: str, zone: tzinfo) -> str | None:
    try:
        wall = parse_written_datetime(text, UTC)
        if parse_written_datetime(text, _ELSEWHERE) != wall - _HOUR:
            return None  # it has an offset
        local = (_EPOCH + timedelta(milliseconds=wall)).replace(tzinfo=zone)
        first, second = local.utcoffset(), local.replace(fold=1).utcoffset()
        if first is None or second is None or first == second:
            return None
        taken, other = (wall - offset // timedelta(milliseconds=1) for offset in (first, second))
        written = [_with_offset(ms, zone) for ms in (taken, other)]
    except (ValueError, OverflowError):  # at the ends of what can be written
        return None
    what = f"{text} is midnight, which" if "-" in text[-3:] or "/" in text[-3:] else text
    if first > second:
        return (
            f"{what} comes twice in {zone}, where clocks are set back: the first is taken, {format_datetime(taken)}. "
            f"Write an offset: {written[0]} is the first, {written[1]} the second"
        )
    return (
        f"{what} does not exist in {zone}, where clocks are set forward: {format_datetime(taken)} is taken. "
        f"Write an offset: {written[0]} is the same"
    )


def _with_offset(ms: int, zone: tzinfo) -> str:
    """Return an instant (UTC milliseconds) as the zone's clocks show it, with the offset; where that is of seconds, in
    UTC."""
    moment = (_EPOCH + timedelta(milliseconds=ms)).astimezone(zone)
    offset = moment.utcoffset()
    if offset is None or offset % timedelta(minutes=1):
        return format_datetime(ms)
    return moment.isoformat("T", "milliseconds" if moment.microsecond else "seconds")

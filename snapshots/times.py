"""Instants: RFC 3339 text ⇄ UTC milliseconds since 1970-01-01T00:00:00Z (decisions 15, 19 and 22)."""

from __future__ import annotations

import re
import time
import unicodedata
from datetime import UTC, datetime, timedelta, tzinfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - UTC by construction; formatting a naive one is faster
_DAY = 86_400_000
_FIRST = -62_135_596_800_000
_LAST = 253_402_300_799_999
_USUAL_LENGTHS = (20, 24)

_FORM = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[Tt ](?P<minutes>[0-9]{2}:[0-9]{2})(?::(?P<seconds>[0-9]{2})(?:\.(?P<fraction>[0-9]+))?)?"
    r"(?P<offset>[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?)?"
)
_WRITTEN = re.compile(
    r"([0-9]{4})([-/])([0-9]{2})\2([0-9]{2})"
    r"(?:[Tt ] ?([0-9]{1,2}):([0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?)"
    r"(?: ?(?:([+-])([0-9]{2}):?([0-9]{2})?|(?P<utc>[Zz]|UTC|GMT)))?)?"
)
# Near misses that people write, each with what to write instead.
_NEAR_MISSES = (
    (re.compile(r"[0-9]{4}[/.][0-9]{1,2}[/.][0-9]{1,2}(?![0-9]).*"), "write the date with hyphens: 2026-11-01"),
    (re.compile(r"[0-9]{1,2}[/.-][0-9]{1,2}[/.-][0-9]{4}.*"), "write the year first: 2026-11-01"),
    (re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[T ][0-9]:.*)?"), "write two digits for months, days and hours"),
    (re.compile(r"[0-9]{8}(?:T.*)?"), "write it with hyphens and colons: 2026-11-01T09:00:00Z"),
)
_MONTHS = (
    *("Jan(?:uary)?", "Feb(?:ruary)?", "Mar(?:ch)?", "Apr(?:il)?", "May", "June?", "July?", "Aug(?:ust)?"),
    *("Sept?(?:ember)?", "Oct(?:ober)?", "Nov(?:ember)?", "Dec(?:ember)?"),
)
_MONTH = "|".join(f"(?P<{{0}}{number}>{name})" for number, name in enumerate(_MONTHS, 1))
_BY_MONTH = re.compile(
    r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?"
    rf"(?:(?:{_MONTH.format('a')})\.? (?P<after>[0-9]{{1,2}})(?:st|nd|rd|th)?,?"
    rf"|(?P<before>[0-9]{{1,2}})(?:st|nd|rd|th)? (?:{_MONTH.format('b')})\.?,?)"
    r" (?P<year>[0-9]{4}),?(?P<rest> .*)?",
    re.IGNORECASE,
)
_NO_DAY = re.compile(r"[0-9]{4}(?:[-/.][0-9]{1,2})?")
_BARE_OFFSET = re.compile(r".*[0-9] ?[+-][0-9]{2}:?(?:[0-9]{2})?")
_LOST_PLUS = re.compile(r".*:[0-9]{2}(?:\.[0-9]+)? [0-9]{2}:[0-9]{2}")


def parse_datetime(text: str, default_zone: tzinfo) -> int:
    """Return an RFC 3339 date-time, or a bare date, as UTC milliseconds.

    ``T`` may be a space; seconds and their fraction are optional, and a fraction finer than a millisecond is
    cut off. A bare date is its midnight. Without an offset the time is in ``default_zone``; where a change of
    clocks makes it ambiguous it is the earlier of the two, and where it skips it, the offset before the change
    holds. A leap second (23:59:60 UTC) is the second after it. Surrounding white space is not accepted.

    Raises ``ValueError``, with a message that says what to write, for any other text, for a day or time that
    does not exist, and for an instant outside the years 0001 to 9999 UTC.
    """
    if len(text) in _USUAL_LENGTHS and text[16] == ":" and text[-1] == "Z":
        usual = _parse_usual(text)
        if usual is not None:
            return usual
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(_what_is_wrong(text))
    date, minutes, seconds, fraction, offset = match.groups()
    if minutes is not None and minutes > "23:59":  # Python 3.13 and newer read 24:00 as the next midnight
        raise ValueError(f"no such date-time: {_shown(text)}: hours go to 23 and minutes to 59")
    if seconds == "60":
        return _leap_second(text, date, minutes, offset, default_zone)
    if fraction is None:
        milliseconds = 0
        plain = text
    else:
        milliseconds = int(fraction[:3].ljust(3, "0"))
        plain = f"{date}T{minutes}:{seconds}{offset or ''}"
    try:
        moment = datetime.fromisoformat(plain.upper() if offset == "z" else plain)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=default_zone)
        since = moment - _EPOCH
    except (ValueError, OverflowError) as error:
        raise ValueError(f"no such date-time: {_shown(text)}: {error}") from None
    result = since.days * _DAY + since.seconds * 1000 + milliseconds
    if not _FIRST <= result <= _LAST:
        raise ValueError(f"{_shown(text)} is outside the years 0001 to 9999 in UTC")
    return result


def parse_written_datetime(text: str, default_zone: tzinfo) -> int:
    """Return a date-time as files of sites write it, as UTC milliseconds.

    Beside the forms of ``parse_datetime``: an offset after a blank, without its colon or its minutes, or as ``UTC`` or
    ``GMT``; an hour of one digit; slashes instead of hyphens; English names of months, as ``Jul 08 2022``. Raises
    ``ValueError`` as ``parse_datetime`` does.
    """
    try:
        return parse_datetime(text, default_zone)
    except ValueError:
        numbered = _with_number_of_month(text)
        match = _WRITTEN.fullmatch(numbered)
        if match is None:
            raise
    year, month, day, hours, rest, sign, offset, minutes = match.group(1, 3, 4, 5, 6, 7, 8, 9)
    plain = f"{year}-{month}-{day}"
    if hours is not None:
        plain += f"T{hours:0>2}:{rest}"
    if sign is not None:
        plain += f"{sign}{offset}:{minutes or '00'}"
    elif match["utc"] is not None:
        plain += "Z"
    try:
        return parse_datetime(plain, default_zone)
    except ValueError as error:
        raise ValueError(str(error).replace(_shown(plain), _shown(text))) from None


def _with_number_of_month(text: str) -> str:
    """Return a date with an English name of its month in the form 2026-11-01, and any other text as it is."""
    match = _BY_MONTH.fullmatch(text) if text[:1].isalnum() and not text[:4].isdigit() else None
    if match is None:
        return text
    month = next(
        name[1:] for name, found in match.groupdict().items() if found and name[:1] in "ab" and name[1:].isdigit()
    )
    day = match["after"] or match["before"]
    return f"{match['year']}-{month:0>2}-{day:0>2}{match['rest'] or ''}"


def format_datetime(ms: int) -> str:
    """Return UTC milliseconds as ``YYYY-MM-DDTHH:MM:SS.mmmZ`` (decision 19).

    Raises ``OverflowError`` for an instant outside the years 0001 to 9999.
    """
    return (_NAIVE_EPOCH + timedelta(0, 0, 0, ms)).isoformat("T", "milliseconds") + "Z"


def now_ms() -> int:
    """Return the present instant as UTC milliseconds; only the outermost layer asks, and passes it down as ``now``."""
    return time.time_ns() // 1_000_000


class Stopwatch:
    """The time since it was made, with that in which the machine slept, which its monotonic clock may not count."""

    def __init__(self) -> None:
        self._monotonic, self._instant = time.monotonic(), now_ms()

    def seconds(self) -> float:
        """Return the time, by whichever clock says more: the one of the calendar may have been set back."""
        return max(time.monotonic() - self._monotonic, (now_ms() - self._instant) / 1000)


def _parse_usual(text: str) -> int | None:
    """Parse what programs write, ``2026-11-01T09:00:00Z`` with or without milliseconds; ``None``: another form.

    Several times faster than the general way.
    """
    if (
        text[10] != "T"
        or text[4] != "-"
        or text[7] != "-"
        or text[13] != ":"
        or text[19] not in ".Z"
        or text[11:13] > "23"
    ):
        return None
    try:
        since = datetime.fromisoformat(text) - _EPOCH
    except ValueError:
        return None
    return since.days * _DAY + since.seconds * 1000 + since.microseconds // 1000


def _leap_second(text: str, date: str, minutes: str, offset: str | None, default_zone: tzinfo) -> int:
    before = parse_datetime(f"{date}T{minutes}:59{offset or ''}", default_zone)
    if before % _DAY != _DAY - 1000 or before + 1000 > _LAST:
        raise ValueError(f"no such date-time: {_shown(text)}: seconds go to 59")
    return before + 1000


def _what_is_wrong(text: str) -> str:
    expected = "expected a date-time such as 2026-11-01T09:00:00+09:00, or a date such as 2026-11-01"
    advice = next((f"; {hint}" for form, hint in _NEAR_MISSES if form.fullmatch(text)), "")
    plain = unicodedata.normalize("NFKC", text)
    if plain != text and _FORM.fullmatch(plain):
        advice = f"; it has full-width characters: write {plain}"
    elif _NO_DAY.fullmatch(text):
        advice = "; a year or month alone is not a date: write the day too: 2026-11-01"
    elif text[:4].isdecimal() and _BARE_OFFSET.fullmatch(text):
        advice = "; write the offset right after the time as hours and minutes: +09:00"
    elif _LOST_PLUS.fullmatch(text):
        advice = "; the + of an offset is sent as %2B in a URL"
    return f"{expected}, got {_shown(text)}{advice}"


def _shown(text: str) -> str:
    return f'"{text}"' if len(text) <= 60 else f'"{text[:60]}…"'

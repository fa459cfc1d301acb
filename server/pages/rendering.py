"""Render a template with its values. Everything that a value holds is escaped, and a missing value is an error."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode
from zoneinfo import ZoneInfo

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from server.pages.files import file_version
from snapshots.model import NEVER
from snapshots.times import format_datetime

_TEMPLATES: Final = Path(__file__).parent / "templates"


class Pages:
    """Templates with addresses below ``base``, the path at which the pages are, without a slash at its end."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._environment = Environment(
            loader=FileSystemLoader(_TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.globals.update(url=self.url, file=self._file)
        self._environment.filters.update(instant=instant, minute=minute, date=calendar_date, clock=clock)
        self._environment.filters.update(day=day, month=month, year_month=year_month, number=number, plural=plural)
        self._environment.filters.update(duration=duration)

    def url(self, *segments: str, **query: object) -> str:
        """Return the address of a page by the segments of its path, which are percent-encoded, and those parameters
        that have a value."""
        path = "".join(f"/{quote(segment, safe='')}" for segment in segments)
        given = urlencode({name: value for name, value in query.items() if value not in (None, "")})
        return f"{self._base}{path}{f'?{given}' if given else ''}"

    def render(self, template: str, values: Mapping[str, Any]) -> str:
        """Return a page. Raises ``UndefinedError`` where the template asks for a value that is not given."""
        return self._environment.get_template(template).render(values)

    def _file(self, name: str) -> str:
        return self.url("-", "files", name, v=file_version(name))


def local(at: int, zone: ZoneInfo) -> str:
    """``2026-02-01 09:30``, with seconds where they are not zero; years that no calendar of a zone has stay UTC."""
    text = format_datetime(at)
    try:
        moment = datetime.fromisoformat(text).astimezone(zone)
    except (ValueError, OverflowError):
        return text[:16].replace("T", " ")
    return moment.isoformat(" ", "seconds" if moment.second else "minutes")[: 19 if moment.second else 16]


def instant(at: int | None, zone: ZoneInfo) -> Markup:
    """Return an instant (UTC milliseconds) in a zone as a ``time`` element, or a dash."""
    return _time(at, "" if at is None else local(at, zone))


def minute(at: int | None, zone: ZoneInfo) -> Markup:
    """Return an instant as ``instant`` does, but to the minute."""
    return _time(at, "" if at is None else local(at, zone)[:16])


def calendar_date(at: int | None, zone: ZoneInfo) -> Markup:
    """Return the day of an instant, as ``instant`` does."""
    return _time(at, "" if at is None else local(at, zone)[:10])


def clock(at: int, zone: ZoneInfo) -> Markup:
    """Return the time of day of an instant, with seconds where they are not zero."""
    return _time(at, local(at, zone)[11:])


def _time(at: int | None, text: str) -> Markup:
    if at is None or at >= NEVER:
        return Markup('<span class="none">–</span>')
    return Markup('<time datetime="{}">{}</time>').format(format_datetime(at), text)


def day(value: date) -> str:
    """``Mon 23 November 2026``, with names that no locale changes."""
    weekday = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[value.weekday()]
    return f"{weekday} {value.day} {month(value)}"


def month(value: date) -> str:
    """``November 2026``."""
    names = (
        *("January", "February", "March", "April", "May", "June"),
        *("July", "August", "September", "October", "November", "December"),
    )
    return f"{names[value.month - 1]} {value.year}"


def year_month(value: date) -> str:
    """``2026-11``."""
    return f"{value.year:04}-{value.month:02}"


def number(value: int) -> str:
    """``1,234``."""
    return f"{value:,}"


def duration(milliseconds: int) -> str:
    """``0.4 s``, ``12 s``, ``3 min``, ``5 h``, ``2 d``: how long something took or is ago, to be read at a glance."""
    seconds = max(0, milliseconds) / 1000
    if seconds < 10:
        return f"{seconds:.1f} s"
    for limit, divisor, unit in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{seconds // divisor:.0f} {unit}"
    return f"{seconds // 86_400:,.0f} d"


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """``1 entry``, ``2 entries``: a count with its noun, whose plural ends in s unless given."""
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"
